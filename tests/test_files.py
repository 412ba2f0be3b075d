"""Nobody finds half of a file, whatever stops the work."""

import os
from pathlib import Path
from typing import List

import pytest

from spacy_spanner.files import new_folder, staged_folder, write_json, write_text


def names(folder: Path) -> List[str]:
    """List all files below a folder, hidden ones too."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )


def test_staged_folder_replaces_its_files_and_keeps_others(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "out"
    for text in ("one", "two"):
        with staged_folder(output) as folder:
            (folder / "sub").mkdir()
            (folder / "sub" / "a.txt").write_text(text)
        (output / "mine.txt").write_text("mine")
    assert names(tmp_path) == ["deep/out/mine.txt", "deep/out/sub/a.txt"]
    assert (output / "sub" / "a.txt").read_text() == "two"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("stage", [staged_folder, new_folder])
def test_stopped_work_leaves_nothing(stage, stop, tmp_path: Path) -> None:  # type: ignore
    with pytest.raises(stop), stage(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("half")
        raise stop
    assert names(tmp_path) == []
    assert not any(tmp_path.iterdir())


def test_stopped_work_leaves_what_was_there(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with new_folder(output) as folder:
        (folder / "a.txt").write_text("old")
    with pytest.raises(KeyboardInterrupt), new_folder(output, force=True) as folder:
        (folder / "a.txt").write_text("new")
        raise KeyboardInterrupt
    assert (output / "a.txt").read_text() == "old"
    with new_folder(output, force=True) as folder:
        (folder / "b.txt").write_text("new")
    assert names(tmp_path) == ["out/b.txt"]


def test_new_folder_replaces_nothing_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    for output in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(ValueError, match="SP070"), new_folder(output):
            pass
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty") as folder:
        (folder / "b.txt").write_text("new")
    assert names(tmp_path) == ["a.txt", "empty/b.txt"]


def test_written_files_are_whole_and_readable(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "a.txt", "über")
    write_json(tmp_path / "a.json", {"a": [1]})
    assert (tmp_path / "new" / "a.txt").read_text(encoding="utf8") == "über"
    assert (tmp_path / "a.json").read_text() == '{\n  "a":[\n    1\n  ]\n}\n'
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o644
    with pytest.raises(TypeError):
        write_json(tmp_path / "b.json", {"a": object()})
    assert names(tmp_path) == ["a.json", "new/a.txt"]


def test_folder_stays_when_a_signal_comes_between_two_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "old").write_text("x")
    replace = os.replace
    moves: List[object] = []

    def interrupted(source: Path, goal: Path) -> None:
        moves.append(source)
        if len(moves) == 2:
            raise SystemExit
        replace(source, goal)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(SystemExit), new_folder(target, force=True) as folder:
        (folder / "new").write_text("x")
    assert [path.name for path in target.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
