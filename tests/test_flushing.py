"""Files that survive a power failure: first they reach the disk, then their names."""

import errno
import os
import stat
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from spacy_spanner.files import new_folder, staged_file

from .test_files import names

Flushed = List[Tuple[Path, List[str]]]


def test_files_are_flushed_before_they_take_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError), staged_file(tmp_path / "a", flush=True) as draft:
        draft.write_text("a")
    with pytest.raises(OSError), new_folder(tmp_path / "b", flush=True) as folder:
        (folder / "a").write_text("a")
    assert not any(tmp_path.iterdir())


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> Flushed:
    """What reaches the disk: files and folders, these with the names in them."""
    found: Flushed = []
    opened: Dict[int, Path] = {}
    system_open, system_flush = os.open, os.fsync

    def open_noted(path: Any, *args: Any, **options: Any) -> int:
        handle = system_open(path, *args, **options)
        opened[handle] = Path(path)
        return handle

    def flush_noted(handle: int) -> None:
        system_flush(handle)
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        path = opened[handle] if is_folder else Path()
        found.append((path, sorted(os.listdir(path)) if is_folder else []))

    monkeypatch.setattr(os, "open", open_noted)
    monkeypatch.setattr(os, "fsync", flush_noted)
    return found


def test_new_names_are_flushed_last(flushed: Flushed, tmp_path: Path) -> None:
    place = tmp_path / "place"
    with staged_file(place / "a", folder=tmp_path / "drafts", flush=True) as draft:
        draft.write_text("a")
    assert [path for path, _ in flushed] == [Path(), place]
    assert flushed[-1] == (place, ["a"])
    flushed.clear()
    with new_folder(place / "b", flush=True) as folder:
        (folder / "c").mkdir()
        (folder / "c" / "d").write_text("d")
    assert (folder / "c", ["d"]) in flushed and (folder, ["c"]) in flushed
    path, inside = flushed[-1]
    assert path == place and {"a", "b"} <= set(inside)
    flushed.clear()
    with staged_file(place / "a") as draft, new_folder(place / "e"):
        draft.write_text("a")
    assert not flushed


@pytest.mark.parametrize(
    "refused, error",
    [("open", errno.EACCES), ("fsync", errno.EINVAL), ("fsync", errno.ENOTSUP)],
)
def test_folders_that_cannot_be_flushed_are_written(
    refused: str, error: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = getattr(os, refused)

    def refuse(what: Any, *args: Any, **options: Any) -> Any:
        if stat.S_ISDIR(os.stat(what).st_mode):
            raise OSError(error, os.strerror(error))
        return system(what, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, refused, refuse)
        with staged_file(tmp_path / "a", flush=True) as draft:
            draft.write_text("a")
        with new_folder(tmp_path / "b", flush=True) as folder:
            (folder / "c").write_text("c")
    assert names(tmp_path) == ["a", "b/c"]
