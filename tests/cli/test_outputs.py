"""Every command that writes: outputs that cannot be written end in a coded message
before the work, and nothing is left or lost.
"""

import json
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from ..evaluation.test_predicting import write_corpus
from ..faults.helpers import full_disk
from ..helpers import trained
from .helpers import invoke

FOLDER, FILE = "folder", "file"
# Arguments of commands in the order of the command line; OUT is the output. There is no
# pipeline and no config to read: the output is checked first.
COMMANDS: Dict[str, Tuple[str, List[str]]] = {
    "convert": (FILE, ["convert", "in.jsonl", "OUT", "--to", "jsonl"]),
    "convert to a folder": (FOLDER, ["convert", "in.jsonl", "OUT", "--to", "brat"]),
    "convert, lost": (FILE, ["convert", "in.jsonl", "a.spacy", "--lost", "OUT"]),
    "stats": (FILE, ["stats", "dev.spacy", "-o", "OUT"]),
    "init-config": (FILE, ["init-config", "OUT"]),
    "debug-data": (FILE, ["debug-data", "no.cfg", "-o", "OUT"]),
    "evaluate": (FOLDER, ["evaluate", "no_model", "dev.spacy", "-o", "OUT"]),
    "tune": (FOLDER, ["tune", "no_model", "dev.spacy", "-o", "OUT", "--force"]),
    "model-card": (FILE, ["model-card", "no_model", "-o", "OUT", "--force"]),
    "annotate": (FOLDER, ["annotate", "no_model", "in.jsonl", "-o", "OUT"]),
    "sweep": (FOLDER, ["sweep", "empty.cfg", "empty.yml", "-o", "OUT"]),
    "find-errors": (FOLDER, ["find-errors", "dev.spacy", "-o", "OUT"]),
    "find-errors, apply": (
        FILE,
        ["find-errors", "dev.spacy", "--apply", "in.jsonl", "-o", "OUT"],
    ),
    "select": (
        FOLDER,
        ["select", "in.jsonl", "--model", "no_model", "-n", "1", "-o", "OUT"],
    ),
    "agreement": (FOLDER, ["agreement", "in.jsonl", "in.jsonl", "-o", "OUT"]),
    "serve": (
        FOLDER,
        ["serve", "no_model", "--label-studio", "--train-after", "9", "-o", "OUT"],
    ),
    "resume": (FOLDER, ["resume", "no_run", "-o", "OUT"]),
    "train-parallel": (FOLDER, ["train-parallel", "empty.cfg", "-n", "2", "-o", "OUT"]),
}
for name in ("lengths", "offsets", "landscape", "grid"):
    more = {
        "lengths": ["no_model", "-d", "dev.spacy"],
        "landscape": ["no_model", "--train", "dev.spacy", "--dev", "dev.spacy"],
        "grid": ["no_model", "dev.spacy", "--rows", "a=1", "--columns", "b=1"],
    }.get(name, ["no_model", "dev.spacy"])
    COMMANDS[f"analyze {name}"] = (FOLDER, ["analyze", name, *more, "-o", "OUT"])
for name in ("training", "calibration", "seeds", "sizes"):
    COMMANDS[f"analyze {name}"] = (FOLDER, ["analyze", name, "no.cfg", "-o", "OUT"])
# Outputs that nobody can write, not even root.
WRONG = {
    "below a file": "empty.cfg/out",
    "in a folder of the system that is read-only": "/proc/out",
    "with a name that is too long": "x" * 300,
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    row = {"text": "In Boston.", "spans": [{"start": 3, "end": 9, "label": "GPE"}]}
    Path("in.jsonl").write_text(20 * f"{json.dumps(row)}\n", "utf8")
    for name in ("empty.cfg", "empty.yml"):
        Path(name).write_text("", "utf8")
    write_corpus(tmp_path, trained("span_biaffine")).rename("dev.spacy")
    return tmp_path


def contents(folder: Path) -> Dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


def refused(words: List[str], output: str, code: str) -> str:
    """Run a command; it must end with the code and leave everything as it is.

    Return the message.
    """
    before = contents(Path())
    done = invoke(*[output if word == "OUT" else word for word in words])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1
    assert f"[{code}]" in done.stderr and "[SP" not in done.stdout
    assert contents(Path()) == before
    return done.stderr


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written(
    workplace: Path, command: str, wrong: str
) -> None:
    if WRONG[wrong].startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("this system has no /proc")
    refused(COMMANDS[command][1], WRONG[wrong], "SP143")


@pytest.mark.parametrize("command", COMMANDS)
def test_output_of_the_other_kind(workplace: Path, command: str) -> None:
    kind, words = COMMANDS[command]
    place = workplace / "there"
    if kind == FOLDER:
        place.write_text("as it was", "utf8")
    else:
        (place / "inside").mkdir(parents=True)
    refused(words, "there", "SP143")


@pytest.mark.parametrize("command", COMMANDS)
def test_output_on_a_disk_that_is_full(workplace: Path, command: str) -> None:
    with full_disk(0):
        refused(COMMANDS[command][1], "out", "SP143")


PRINTING = ("init-config", "annotate")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in PRINTING])
def test_dash_is_no_file(workplace: Path, command: str) -> None:
    refused(COMMANDS[command][1], "-", "SP062")


# Commands with something to do, whose disk is full in the middle of it.
AT_WORK = {
    "convert": ["convert", "in.jsonl", "OUT", "--to", "jsonl"],
    "convert to a folder": ["convert", "in.jsonl", "OUT", "--to", "spacy"],
    "init-config": ["init-config", "OUT"],
    "stats": ["stats", "dev.spacy", "-o", "OUT"],
    "evaluate": ["evaluate", "model", "dev.spacy", "-o", "OUT", "--samples", "5"],
    "analyze": ["analyze", "offsets", "model", "dev.spacy", "-o", "OUT"],
    "tune": ["tune", "model", "dev.spacy", "-o", "OUT"],
    "model-card": ["model-card", "model", "-o", "OUT"],
}


@pytest.mark.parametrize("command", AT_WORK)
def test_disk_that_becomes_full(workplace: Path, command: str) -> None:
    trained("span_biaffine").to_disk("model")
    with full_disk(200):
        shown = refused(AT_WORK[command], "out", "SP143")
    assert "Cannot write out: " in shown


def test_annotating_on_a_disk_that_becomes_full(workplace: Path) -> None:
    trained("span_biaffine").to_disk("model")
    with full_disk(400):
        done = invoke("annotate", "model", "in.jsonl", "-o", "out")
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1 and "[SP143]" in done.stderr
    assert not list(Path("out").glob("part-*"))
    again = invoke("annotate", "model", "in.jsonl", "-o", "out")
    assert again.exit_code == 0 and "20 documents" in again.output


def test_tuned_pipeline_replaces_no_data(workplace: Path) -> None:
    refused(["tune", "no_model", "dev.spacy", "-o", "OUT", "-F"], ".", "SP144")


def test_output_is_no_input_of_the_next_run(workplace: Path) -> None:
    Path("in").mkdir()
    Path("in.jsonl").rename("in/a.jsonl")
    words = ["convert", "in", "OUT", "--format", "jsonl"]
    done = invoke(*[word if word != "OUT" else "in/b.jsonl" for word in words])
    assert done.exit_code == 0 and "20 documents" in done.output
    refused(words, "in/b.jsonl", "SP144")


# ------------------------------------------------------------------ inputs

# Inputs that are missing, of the wrong kind, or empty.
# The message, by command and what is wrong.
INPUTS: Dict[str, Tuple[str, str]] = {
    "convert, missing": ("SP061", "convert no out.spacy"),
    "convert, empty": ("SP061", "convert empty.txt out.spacy"),
    "convert, empty folder": ("SP061", "convert hollow out.spacy"),
    "convert, unreadable list": (
        "SP145",
        "convert in.jsonl out.spacy --format kbp --documents no",
    ),
    "convert, unknown language": ("E048", "convert in.jsonl out.spacy --lang qqq"),
    "stats, missing": ("SP061", "stats no.spacy"),
    "stats, empty": ("SP056", "stats empty.txt"),
    "stats, empty folder": ("SP061", "stats hollow"),
    "debug-data, missing": ("E053", "debug-data no.cfg"),
    "debug-data, folder": ("E053", "debug-data hollow"),
    "debug-data, empty": ("E985", "debug-data empty.cfg"),
    "debug-data, other file": ("Config validation error", "debug-data in.jsonl"),
    "evaluate, missing model": ("E050", "evaluate no dev.spacy -o out"),
    "evaluate, file as model": ("E053", "evaluate in.jsonl dev.spacy -o out"),
    "evaluate, folder as model": ("E053", "evaluate ./hollow dev.spacy -o out"),
    "tune, file as model": ("E053", "tune in.jsonl dev.spacy -o out"),
    "model-card, file as model": ("E053", "model-card in.jsonl"),
    "model-card, folder as model": ("E053", "model-card ./hollow"),
    "annotate, missing input": ("SP120", "annotate no no.txt -o out"),
    "annotate, folder as model": ("E053", "annotate ./hollow in.jsonl -o out"),
    "annotate, empty input": ("SP120", "annotate no hollow -o out"),
    "resume, missing": ("SP112", "resume no"),
    "resume, file": ("SP112", "resume in.jsonl"),
    "resume, empty": ("SP112", "resume hollow"),
    "train-parallel, missing": ("SP145", "train-parallel no.cfg -n 2"),
    "train-parallel, folder": ("SP145", "train-parallel hollow -n 2"),
    "sweep, empty config": ("E985", "sweep empty.cfg space.yml -o out"),
    "sweep, empty space": ("SP135", "sweep empty.cfg empty.yml -o out"),
    "sweep, missing config": ("E053", "sweep no.cfg space.yml -o out"),
    "sweep, missing space": ("SP135", "sweep empty.cfg no.yml -o out"),
    "sweep, folder": ("SP135", "sweep hollow hollow -o out"),
    "analyze, no seeds": ("SP062", "analyze seeds empty.cfg -o out --seeds ,"),
    "analyze, missing": ("E053", "analyze seeds no.cfg -o out"),
    "analyze, empty": ("E985", "analyze seeds empty.cfg -o out"),
    "analyze, other file": ("Config validation error", "analyze seeds in.jsonl -o out"),
    "code, missing": (
        "Path to Python code not found",
        "evaluate no dev.spacy -o out --code no.py",
    ),
}


@pytest.mark.parametrize("wrong", INPUTS)
def test_input_that_cannot_be_read(workplace: Path, wrong: str) -> None:
    Path("hollow").mkdir()
    Path("empty.txt").write_text("", "utf8")
    Path("space.yml").write_text("grid:\n  training.dropout: [0.1]\n", "utf8")
    message, words = INPUTS[wrong]
    done = invoke(*words.split())
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1
    assert message in (done.stdout if wrong == "code, missing" else done.stderr)
