"""What `spanner distill` must not replace in its output folder."""

import shutil
from pathlib import Path
from typing import Dict, List

import pytest
from thinc.api import Config

from ..runs import assert_same_weights
from .helpers import distill_words, run


def test_no_other_pipeline_is_overwritten(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    for folder in (Path(model).parent, Path(model)):
        assert "SP192" in run(*distill_words(model, read, student, folder), code=1)
    other = tmp_path / "other" / "model-best"
    shutil.copytree(model, other)
    assert "SP192" in run(*distill_words(model, read, student, other.parent), code=1)
    assert_same_weights(Path(model), other)


def files_in(folder: Path) -> Dict[str, bytes]:
    """RETURNS (Dict[str, bytes]): all files, with their content."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("link", ["", "teacher", "output"])
def test_force_keeps_the_teacher(
    link: str, model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    shutil.copytree(model, output / "model-best")
    before = files_in(output)
    teacher = output / "model-best"
    (tmp_path / "link").symlink_to({"teacher": teacher}.get(link, output))
    teacher = tmp_path / "link" if link == "teacher" else teacher
    output = tmp_path / "link" if link == "output" else output
    command = distill_words(str(teacher), read, student, output)
    for force in ([], ["--force"]):
        shown = run(*command, *force, code=1)
        assert "SP192" in shown and "the teacher" in shown
    assert files_in(output) == before


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_what_a_student_is_made_of_is_kept(
    force: List[str], model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output, config = tmp_path / "out", Config().from_disk(student, interpolate=False)
    own = output / "config.cfg"
    mine = output / "checkpoints" / "mine.txt"
    mine.parent.mkdir(parents=True)
    shutil.copy(read, mine)
    shutil.copy(student, own)
    shutil.copytree(model, output / "model-last")
    config["nlp"]["lang"] = "en"
    config["components"]["span_biaffine"] = {"source": str(output / "model-last")}
    sourced = tmp_path / "sourced.cfg"
    config.to_disk(sourced)
    before = files_in(output)
    cases = [(mine, student, []), (read, own, []), (read, sourced, [])]
    for corpus in ("train", "dev"):
        cases.append((read, student, [f"--paths.{corpus}", str(mine.parent)]))
    for given, learner, changes in cases:
        command = [*distill_words(model, given, learner, output), *changes]
        assert "SP144" in run(*command, *force, code=1)
        assert files_in(output) == before


def test_force_keeps_texts_that_cannot_be_read_again(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    (output / "texts").mkdir(parents=True)
    texts = output / "texts" / "part-000000.txt"
    shutil.copy(read, texts)
    (output / "config.cfg").touch()
    (tmp_path / "link").symlink_to(output)
    for given in (texts, tmp_path / "link" / "texts"):
        command = distill_words(model, given, student, output)
        assert "SP120" in run(*command, "--force", code=1)
    assert sorted(files_in(output)) == ["config.cfg", "texts/part-000000.txt"]
