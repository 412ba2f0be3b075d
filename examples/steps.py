"""What the examples share: run commands, and write and change files."""

import os
import subprocess
import sys
from pathlib import Path

from thinc.api import Config


def run(commands: str, fails: bool = False) -> None:
    """Run command lines in a shell, and stop if one fails, unless it should."""
    print(f"$ {commands.strip()}", flush=True)
    python = str(Path(sys.executable).parent)  # `python` is the one that runs this
    path = os.pathsep.join([python, os.environ["PATH"]])
    shell = {"env": {**os.environ, "PATH": path}, "shell": True}
    subprocess.run(f"set -e\n{commands}", check=not fails, **shell)


def merge(path: str, blocks: str) -> None:
    """Replace settings of a config, and add blocks to it."""
    config = Config().from_disk(path, interpolate=False)
    changes = parse_blocks(blocks)
    config.merge(changes, remove_extra=False).to_disk(path)


def parse_blocks(text: str) -> Config:
    """RETURNS (Config): some blocks of a config, without those around them."""
    parts = [part for part in f"\n{text.strip()}\n".split("\n[") if part.strip()]
    names = [part.split("]")[0] for part in parts]
    around = {name[:at] for name in names for at in _dots(name)} - set(names)
    blocks = [f"[{part}" for part in parts] + [f"[{name}]" for name in around]
    blocks.sort(key=lambda block: block.split("]")[0].count("."))  # outer ones first
    return Config().from_str("\n\n".join(blocks), interpolate=False)


def _dots(name: str) -> list:
    return [at for at, letter in enumerate(name) if letter == "."]


def write(path: str, text: str) -> None:
    """Write a file."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text.lstrip("\n"), encoding="utf8")
