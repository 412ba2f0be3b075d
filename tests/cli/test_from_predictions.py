"""The documented way from the predictions of another tool to a trained pipeline."""

import json
import re
import shutil
from pathlib import Path

import pytest
import spacy
from spacy.cli._util import app
from typer.testing import CliRunner

import spacy_spanner.cli  # noqa: F401 (mounts the commands)

from ..helpers import trained
from .helpers import run

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
FIRST = ("Ana", "Bob", "Cleo", "Dan", "Eva", "Fritz")
LAST = ("Ruiz", "Lund", "Weber", "Okoro")


def command_lines() -> str:
    """RETURNS: the block of commands in the section about predictions."""
    section = PAGE.read_text(encoding="utf8").split("### From predictions")[1]
    return re.findall(r"```bash\n(.*?)```", section, flags=re.DOTALL)[0]


def predictions(path: Path, start: int) -> None:
    """Write what GLiNER would predict."""
    rows = []
    for number in range(start, start + 12):
        name = f"{FIRST[number % 6]} {LAST[number % 4]}"
        text = f"{name} read report {number} on the train to Oslo ."
        place = text.index("Oslo")
        found = [(0, len(name), "person", 0.9), (place, place + 4, "city", 0.8)]
        found += [(len(name) + 1, len(name) + 5, "city", 0.2)]
        keys = ("start", "end", "label", "score")
        entities = [
            {**dict(zip(keys, row)), "text": text[row[0] : row[1]]} for row in found
        ]
        rows.append(json.dumps({"text": text, "entities": entities}))
    path.write_text("\n".join(rows), encoding="utf8")


@pytest.mark.slow
def test_documented_commands_lead_to_a_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    predictions(tmp_path / "gliner_train.jsonl", start=0)
    predictions(tmp_path / "gliner_dev.jsonl", start=12)
    for line in command_lines().splitlines():
        if line.startswith("#"):  # an annotator accepts everything
            shutil.copy("to_correct.jsonl", "dev.jsonl")
            continue
        words = line.split()[3:]
        if words[0] == "train":
            words += ["--training.max_steps", "2", "--training.eval_frequency", "1"]
        done = CliRunner().invoke(app, words)
        # So few spans are worth a warning, or an error.
        assert done.exit_code == 0 or "debug-data" in line, (line, done.output)
    nlp = spacy.load(tmp_path / "training" / "model-last")
    assert nlp.pipe_labels["span_locate_label"] == ["city", "person"]


def test_annotation_of_this_package_keeps_its_scores(tmp_path: Path) -> None:
    nlp = trained("span_biaffine")
    nlp.to_disk(tmp_path / "pipeline")
    text = "The US Supreme Court will hear arguments from Leon County."
    source, target = tmp_path / "in.jsonl", tmp_path / "annotated"
    source.write_text(json.dumps({"text": text}), encoding="utf8")
    run("annotate", tmp_path / "pipeline", source, "--output", target)
    run("convert", target, tmp_path / "out.jsonl")
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text("utf8").splitlines())
    doc = nlp(text)
    group = doc.spans["ents"]
    scores = [pytest.approx(score, abs=1e-5) for score in group.attrs["scores"]]
    assert len(group)
    assert [
        (span["start"], span["end"], span["label"], span["score"])
        for span in row["spans"]
    ] == [
        (span.start_char, span.end_char, span.label_, score)
        for span, score in zip(group, scores)
    ]
