"""What a processor multiplies fast, and which precision to use on it."""

import platform
import warnings
from functools import cache
from pathlib import Path
from typing import FrozenSet

import torch

from ...errors import Warnings

FLOAT32, BFLOAT16, INT8, AUTO = "float32", "bfloat16", "int8", "auto"
PRECISIONS = (FLOAT32, BFLOAT16, INT8, AUTO)

# Instructions by their names in Linux; one of each set is enough. Without them, other
# instructions emulate the products, which is slower than float32.
NEEDED = {
    BFLOAT16: frozenset({"avx512_bf16", "amx_bf16", "bf16"}),
    INT8: frozenset({"avx512_vnni", "avx_vnni", "amx_int8"}),
}
# What torch knows about the processor, on systems that do not list its instructions.
KNOWN_TO_TORCH = {
    "_is_avx512_bf16_supported": "avx512_bf16",
    "_is_vnni_supported": "avx512_vnni",
    "_is_avx512_vnni_supported": "avx512_vnni",
    "_is_amx_tile_supported": "amx_bf16",
}
CPUINFO = Path("/proc/cpuinfo")


def usable_precision(precision: str, device: str, *, emulate: bool) -> str:
    """Choose the precision to predict in.

    precision (str): one of `PRECISIONS`.
    device (str): kind of device, "cpu" or "cuda".
    emulate (bool): whether to use the precision without fast instructions as well.
    RETURNS (str): "float32" instead of a precision that the device is not fast in, with
        a warning (SW241), and "bfloat16" or "float32" for "auto".
    """
    if precision == FLOAT32:
        return FLOAT32
    if precision == AUTO:
        return BFLOAT16 if is_fast(BFLOAT16, device) else FLOAT32
    runs = device == "cpu" or precision == BFLOAT16
    if is_fast(precision, device) or (emulate and runs):
        return precision
    missing = ", ".join(sorted(NEEDED[precision])) if device == "cpu" else "a kernel"
    message = Warnings.SW241.format(precision=precision, device=device, missing=missing)
    warnings.warn(message)
    return FLOAT32


def is_fast(precision: str, device: str) -> bool:
    """RETURNS (bool): whether a device multiplies in a precision faster than in
    float32.
    """
    if precision == FLOAT32:
        return True
    if device != "cpu":
        return precision == BFLOAT16 and torch.cuda.is_bf16_supported()
    if not torch.backends.mkldnn.is_available():
        return False
    return bool(NEEDED[precision] & instructions()) and (
        precision != INT8 or multiplies_int8()
    )


@cache
def instructions() -> FrozenSet[str]:
    """RETURNS (FrozenSet[str]): the instructions of the processor, of those above."""
    found = set()
    for name, instruction in KNOWN_TO_TORCH.items():
        ask = getattr(torch.cpu, name, None)
        if ask is not None and ask():
            found.add(instruction)
    if CPUINFO.exists():
        kinds = ("flags", "Features")  # on x86 and on ARM
        lines = CPUINFO.read_text(encoding="utf8", errors="replace").splitlines()
        listed = [line.split(":")[1] for line in lines if line.startswith(kinds)]
        found.update(*(line.split() for line in listed[:1]))
    return frozenset(found & frozenset().union(*NEEDED.values()))


@cache
def multiplies_int8() -> bool:
    """RETURNS (bool): whether torch has the product of int8 matrices for processors,
    and returns what it should.
    """
    multiply = getattr(torch, "_int_mm", None)
    if multiply is None:
        return False
    left = torch.arange(-96, 96, dtype=torch.int8).reshape(6, 32)
    right = torch.arange(-128, 128, dtype=torch.int16).to(torch.int8).reshape(8, 32)
    try:
        found = multiply(left, right.t())
    except (RuntimeError, NotImplementedError):
        return False
    return torch.equal(found, left.int() @ right.int().t())


def describe_processor() -> str:
    """RETURNS (str): the kind of processor and its instructions for low precision."""
    listed = ", ".join(sorted(instructions())) or "no instructions for low precision"
    return f"{platform.machine()} ({listed})"
