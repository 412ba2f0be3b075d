"""Stored components whose weights somebody has changed, with correct digests."""

import gc
import io
import warnings
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, Callable, Dict

import numpy as np
import pytest
import srsly
import torch

from spacy_spanner.layers.torch_head import get_shim

from ..helpers import FACTORIES
from .helpers import (
    Call,
    Count,
    Payload,
    fresh_component,
    harmless,
    refused,
    stored_component,
)

FACTORY = FACTORIES[0]
Change = Callable[[Any], Any]


def with_head(factory: str, change: Change) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a component whose head was changed."""
    parts = stored_component(factory)
    model: Any = srsly.msgpack_loads(parts["model"])
    node = next(i for i, shims in enumerate(model["shims"]) if shims)
    model["shims"][node][0] = change(model["shims"][node][0])
    return {**parts, "model": srsly.msgpack_dumps(model)}


def with_state(factory: str, change: Change) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a component whose weights were changed."""

    def change_head(head: bytes) -> bytes:
        message: Any = srsly.msgpack_loads(head)
        state = torch.load(io.BytesIO(message["state"]), weights_only=True)
        message["state"] = change(state)
        if not isinstance(message["state"], bytes):
            message["state"] = saved(message["state"])
        return srsly.msgpack_dumps(message)

    return with_head(factory, change_head)


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def with_one(tensor: Any) -> Change:
    """Put another value in the place of the first tensor."""
    return lambda state: {**state, next(iter(state)): tensor}


def rebuilt(size: tuple, stride: tuple, offset: int = 0) -> Call:
    """RETURNS (Call): a tensor of any shape on the memory of four numbers."""
    memory = torch.zeros(4).untyped_storage()
    dtype = torch.float32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated, but what files contain
        typed = torch.storage.TypedStorage(wrap_storage=memory, dtype=dtype)
    rebuild = torch._utils._rebuild_tensor_v2
    return Call(rebuild, typed, offset, size, stride, False, OrderedDict())


def compressed(n_numbers: int) -> Change:
    """Put zeros in the place of the weights, compressed."""

    def change(state: Any) -> bytes:
        out = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(saved(state))) as archive,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bomb,
        ):
            for name in archive.namelist():
                zeros = bytes(4 * n_numbers) if name.endswith("/data/0") else b""
                bomb.writestr(name, zeros or archive.read(name))
        return out.getvalue()

    return change


HUGE = (50_000, 50_000)
STATES: Dict[str, Change] = {
    "one number as a matrix": with_one(rebuilt(HUGE, (0, 0))),
    "more than the memory": with_one(rebuilt(HUGE, (50_000, 1))),
    "behind the memory": with_one(rebuilt((2, 2), (2, 1), 10**9)),
    "a new huge tensor": with_one(Call(torch.Tensor, *HUGE)),
    "a huge buffer": with_one(Call(bytearray, 2**31)),
    "compressed zeros": compressed(2**23),
    "no tensors": with_one("text"),
    "a list": lambda state: [1, 2, 3],
    "nothing": lambda state: b"",
    "text": lambda state: b"text",
    "the first half": lambda state: saved(state)[: len(saved(state)) // 2],
    "a tensor too little": lambda state: dict(list(state.items())[1:]),
    "a tensor too many": lambda state: {**state, "other": torch.zeros(2)},
    "other sizes": with_one(torch.zeros(3, 2, 1)),
}


@pytest.mark.parametrize("factory", FACTORIES)
def test_weights_that_are_not_what_they_claim(
    factory: str, tmp_path: Path, tried: Count
) -> None:
    pipe = fresh_component(factory)
    for change in STATES.values():
        tried("manipulated components")
        parts = with_state(factory, change)
        with harmless(tmp_path), refused("SP148|SP150|SP151"):
            pipe.from_bytes(srsly.msgpack_dumps(parts))


def test_weights_and_sizes_that_claim_the_same(tmp_path: Path, tried: Count) -> None:
    """A view of one number fits sizes that were changed as well."""
    pipe = fresh_component(FACTORY)
    build = get_shim(pipe.model.get_ref("output_layer")).build
    tried("manipulated components")
    with torch.device("meta"):
        shapes = {k: v.shape for k, v in build(32, 2000).state_dict().items()}
    state = {name: torch.zeros(1).expand(shape) for name, shape in shapes.items()}
    message = srsly.msgpack_dumps({"sizes": [32, 2000], "state": saved(state)})
    parts = with_head(FACTORY, lambda head: message)
    with harmless(tmp_path), pytest.raises(ValueError, match=r"SP151.*they claim"):
        pipe.from_bytes(srsly.msgpack_dumps(parts))


def test_code_in_weights_never_runs(tmp_path: Path, tried: Count) -> None:
    payload, pipe = Payload(tmp_path / "marker"), fresh_component(FACTORY)
    for value in (payload, {"weight": payload}, [payload], OrderedDict(a=payload)):
        tried("manipulated components")
        parts = with_state(FACTORY, lambda state, value=value: value)
        with harmless(tmp_path), refused("SP151"):
            pipe.from_bytes(srsly.msgpack_dumps(parts))


SIZES = [
    (32, 10**9),
    (10**9, 3),
    (100, 3),
    (-1, 3),
    (0, 0),
    (32, True),
    (32, 3.0),
    ("32", "3"),
    (32,),
    (32, 3, 3),
    ([32], [3]),
    None,
    {"a": 1},
]


def sized(sizes: Any) -> Change:
    return lambda head: srsly.msgpack_dumps(
        {**srsly.msgpack_loads(head), "sizes": sizes}  # type: ignore[dict-item]
    )


HEADS: Dict[str, Change] = {
    **{f"sizes {sizes}": sized(sizes) for sizes in SIZES},
    "no state": lambda head: srsly.msgpack_dumps({"sizes": [32, 3]}),
    "a list": lambda head: srsly.msgpack_dumps([1]),
    "nothing": lambda head: b"",
    "deep": lambda head: b"\x91" * 100_000,
    "a long list": lambda head: b"\xdd\xff\xff\xff\xff",
    "a long map": lambda head: b"\xdf\xff\xff\xff\xff",
    "long bytes": lambda head: b"\xc6\xff\xff\xff\xff",
    "long text": lambda head: b"\xdb\xff\xff\xff\xff",
}


@pytest.mark.parametrize("factory", FACTORIES)
def test_heads_of_other_sizes(factory: str, tmp_path: Path, tried: Count) -> None:
    pipe = fresh_component(factory)
    for change in HEADS.values():
        tried("manipulated components")
        parts = with_head(factory, change)
        with harmless(tmp_path), refused("SP148|SP150|SP151"):
            pipe.from_bytes(srsly.msgpack_dumps(parts))


def renamed(model: Any) -> None:
    for node in model["nodes"]:
        node["name"] = "other"
    small_table(model)


def small_table(model: Any) -> None:
    """Leave fewer rows in a table than hashes point to."""
    first = next(params for params in model["params"] if "E" in params)
    first["E"] = np.zeros((1, 1), dtype="f")


def whole_numbers(model: Any) -> None:
    first = next(params for params in model["params"] if "E" in params)
    first["E"] = first["E"].astype("i")


def other_head(model: Any) -> None:
    model["nodes"][0]["refs"]["output_layer"] = 1


def missing_head(model: Any) -> None:
    model["nodes"][0]["refs"]["output_layer"] = 10**6


MODELS: Dict[str, Callable[[Any], Any]] = {
    **{f"no {name}": lambda m, name=name: m.pop(name) for name in ("nodes", "attrs")},
    **{f"no {name}": lambda m, name=name: m.pop(name) for name in ("params", "shims")},
    "no node": lambda m: m["nodes"].pop(),
    "a node more": lambda m: m["nodes"].append(m["nodes"][0]),
    "nodes of text": lambda m: m.update(nodes=["x"] * len(m["nodes"])),
    "other dimensions": lambda m: m["nodes"][1]["dims"].update(nO=10**9),
    "dimensions of text": lambda m: m["nodes"][1]["dims"].update(nO="x"),
    "shims that are not there": lambda m: m["shims"][0].append(b""),
    "a small table": small_table,
    "a small table of another name": renamed,
    "whole numbers": whole_numbers,
    "another head": other_head,
    "no head": missing_head,
}


def test_models_of_another_form(tmp_path: Path, tried: Count) -> None:
    pipe = fresh_component(FACTORY)
    for change in MODELS.values():
        tried("manipulated components")
        parts = stored_component(FACTORY)
        model: Any = srsly.msgpack_loads(parts["model"])
        change(model)
        parts["model"] = srsly.msgpack_dumps(model)
        with harmless(tmp_path), refused("SP007|SP148|SP150|SP151"):
            pipe.from_bytes(srsly.msgpack_dumps(parts))


BYTES = {
    "deep": b"\x91" * 100_000,
    "a long list": b"\xdd\xff\xff\xff\xff",
    "nested long lists": b"\xdd\x00\x0f\xff\xff" * 400 + bytes(2**20),
    "long bytes": b"\xc6\xff\xff\xff\xff",
    "an array of objects": srsly.msgpack_dumps(np.zeros(2)).replace(b"<f8", b"|O8"),
    "an array of another shape": srsly.msgpack_dumps(np.zeros(2)).replace(
        b"\xa5shape\x91\x02", b"\xa5shape\x91\x7f"
    ),
    "a number": b"\x01",
}


@pytest.mark.parametrize("where", ["component", "model"])
def test_bytes_that_cannot_be_unpacked(
    where: str, tmp_path: Path, tried: Count
) -> None:
    pipe = fresh_component(FACTORY)
    for data in BYTES.values():
        tried("manipulated components")
        whole = srsly.msgpack_dumps({**stored_component(FACTORY), "model": data})
        with harmless(tmp_path), refused("SP148|SP151|E149"):
            pipe.from_bytes(data if where == "component" else whole)


def test_refused_bytes_leave_the_garbage_collector_on() -> None:
    assert gc.isenabled()
    for data in (b"\xc1", srsly.msgpack_dumps({"cfg": '{"labels": []}', "model": b""})):
        with refused("SP148"):
            fresh_component(FACTORY).from_bytes(data)
        assert gc.isenabled()


def test_weights_that_were_not_changed_load(tmp_path: Path) -> None:
    for factory in FACTORIES:
        pipe = fresh_component(factory)
        with harmless(tmp_path):
            same = with_state(factory, lambda state: state)
            pipe.from_bytes(srsly.msgpack_dumps(same))
        assert get_shim(pipe.model.get_ref("output_layer")).sizes == (32, 3)
