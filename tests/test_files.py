"""Nobody finds half of a file, whatever stops the work."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any, List

import pytest

from spacy_spanner.files import (
    Draft,
    locked,
    new_folder,
    read_json,
    staged_file,
    staged_folder,
    write_json,
    write_text,
)
from spacy_spanner.output_checks import naming_output, require_writable


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


def test_signal_while_the_old_folder_is_removed_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, remove, calls = tmp_path / "model", shutil.rmtree, []
    with new_folder(target) as folder:
        (folder / "old").touch()

    def interrupted(path: Path, **options: Any) -> None:
        calls.append(path)
        if path.exists() and len(calls) < 3:
            raise SystemExit
        remove(path, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(SystemExit), new_folder(target, force=True) as folder:
        (folder / "new").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert [path.name for path in target.iterdir()] == ["new"]


def test_a_draft_keeps_the_rights_of_the_file_and_a_link(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("old")
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    draft = Draft(link)
    draft.path.write_text("new", encoding="utf8")
    draft.finish()
    assert path.read_text("utf8") == "new"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("there", [False, True], ids=["dangling", "there"])
def test_new_folder_replaces_the_target_of_a_link(there: bool, tmp_path: Path) -> None:
    place, target = tmp_path / "place", tmp_path / "disk" / "model"
    place.mkdir()
    (target if there else target.parent).mkdir(parents=True)
    if there:
        (target / "old").touch()
    (place / "link").symlink_to(target)
    with new_folder(place / "link", force=True) as folder:
        assert folder.parent == target.parent  # moved without being copied
        (folder / "new").touch()
    assert (place / "link").is_symlink()
    assert names(tmp_path / "disk") == ["model/new"]
    assert [path.name for path in place.iterdir()] == ["link"]


def test_errors_name_the_link_that_was_given(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "disk")
    (tmp_path / "disk").touch()
    with pytest.raises(ValueError, match=rf"SP070\] {link} "), new_folder(link):
        pass
    named = rf"SP143\] Cannot write {link}:"
    with pytest.raises(OSError, match=named), new_folder(link, force=True):
        pass
    link.unlink()
    link.symlink_to(tmp_path / "disk" / "model")
    with pytest.raises(OSError, match=named):
        require_writable(link, folder=True, whole=True)
    assert names(tmp_path) == ["disk"]


def test_a_draft_of_a_pipe_fills_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    draft = Draft(pipe)
    draft.path.write_text("new", encoding="utf8")
    draft.finish()
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert pipe.is_fifo()


def test_drafts_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    inside = tmp_path / "state"
    with staged_file(tmp_path / "a.txt", folder=inside, flush=True) as draft:
        assert draft.parent == inside
        draft.write_text("a")
    assert names(tmp_path) == ["a.txt"]


def test_folder_that_is_there_holds_its_own_drafts(tmp_path: Path) -> None:
    """A folder may be the only place of its disk, or the only one to write to."""
    for expected in (tmp_path, tmp_path / "out"):
        with staged_folder(tmp_path / "out") as folder:
            assert folder.parent == expected
            (folder / "a.txt").write_text("a")
        assert names(tmp_path) == ["out/a.txt"]


def test_numbers_come_back_as_they_were_written(tmp_path: Path) -> None:
    numbers = [0.6, 1 / 3, 1e-300, 0.1 + 0.2]
    write_json(tmp_path / "a.json", numbers)
    assert read_json(tmp_path / "a.json") == numbers
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", float("nan"))
    assert read_json(tmp_path / "a.json") == numbers


def test_folder_is_locked_for_one_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "lock"
    refused = pytest.raises(ValueError, match=r"\[SP125\]")
    with locked(lock, tmp_path), refused, locked(lock, tmp_path):
        pass
    with pytest.raises(KeyError), locked(lock, tmp_path):
        raise KeyError
    with locked(lock, tmp_path):
        pass


def test_errors_of_the_system_name_the_output_and_keep_their_type() -> None:
    system = PermissionError(errno.EACCES, "no", "file")
    with (
        pytest.raises(PermissionError) as raised,
        naming_output(Path("out")),
        naming_output(Path("out/draft/file")),
    ):
        raise system
    assert str(raised.value).startswith("[SP143] Cannot write out: ")
    assert os.strerror(errno.EACCES) in str(raised.value)
    assert raised.value.__cause__ is system


@pytest.mark.parametrize(
    "error",
    [FileNotFoundError(errno.ENOENT, "no"), OSError("[E053] something else")],
)
def test_errors_of_reading_are_not_about_the_output(error: OSError) -> None:
    with pytest.raises(OSError) as raised, naming_output(Path("o"), reading=True):
        raise error
    assert raised.value is error


def test_full_disk_is_about_the_output_also_where_something_is_read() -> None:
    with (
        pytest.raises(OSError, match=r"\[SP143\] Cannot write out"),
        naming_output(Path("out"), reading=True),
    ):
        raise OSError(errno.ENOSPC, "full")


def test_output_that_can_be_written_is_checked_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was", "utf8")
    for name in ("folder", "deep/er/folder", "."):
        require_writable(tmp_path / name, folder=True)
        require_writable(tmp_path / name / "new", folder=False)
    require_writable(tmp_path / "file", folder=False)
    require_writable(Path(os.devnull), folder=False)
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text("utf8") == "as it was"


def test_long_names_have_drafts(tmp_path: Path) -> None:
    name = 250 * "x"
    write_text(tmp_path / name, "text")
    with new_folder(tmp_path / "new" / name) as folder:
        write_text(folder / "a", "text")
    assert names(tmp_path) == sorted([name, f"new/{name}/a"])
