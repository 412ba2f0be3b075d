"""`python -m spacy spanner convert` and `stats`, as users call them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from spacy.cli import app
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner, Result

import spacy_spanner.cli

GOOD = "The O O\nUS B-ORG B-GPE\nCourt I-ORG O\n\nBye O O\n"
# Four entities: two are fine, one is repeated, one crosses nothing but is empty.
ITEM = {
    "text": "The US Court",
    "spans": [[4, 12, "ORG"], [4, 6, "GPE"], [4, 6, "GPE"], [5, 6, "X"]],
}


def run(*words: object) -> Result:
    assert spacy_spanner.cli.app is not None
    return CliRunner().invoke(app, ["spanner", *map(str, words)])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text(GOOD, encoding="utf8")
    return path


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(ITEM), encoding="utf8")
    return path


def test_convert_writes_and_tells_what_it_found(good: Path, tmp_path: Path) -> None:
    done = run("convert", good, tmp_path / "out.spacy")
    assert done.exit_code == 0, done.output
    assert "the format is conll" in done.output
    assert "2 documents, 4 tokens, 2 entities" in done.output
    docs = list(DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab()))
    found = [[(s.start, s.end, s.label_) for s in doc.spans["ents"]] for doc in docs]
    assert found == [[(1, 3, "ORG"), (1, 2, "GPE")], []]
    assert not (tmp_path / "out.spacy.lost.csv").exists()


def test_convert_counts_one_in_the_singular(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("Rome B-GPE\n", encoding="utf8")
    done = run("convert", path, tmp_path / "out.spacy")
    assert "1 document, 1 token, 1 entity" in done.output


def test_convert_refuses_targets_of_unknown_formats(good: Path, tmp_path: Path) -> None:
    for name in ("out.txt", "out.jsonl.gz", "v1.0"):
        done = run("convert", good, tmp_path / name)
        assert done.exit_code == 1
        assert "[SP142]" in done.output and ".jsonl" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_convert_writes_a_folder_without_suffix_or_with_a_slash(
    good: Path, tmp_path: Path
) -> None:
    (tmp_path / "v2.0").mkdir()
    for name in ("out", "v1.0/", "v2.0"):
        done = run("convert", good, f"{tmp_path}/{name}")
        assert done.exit_code == 0, done.output
        assert (tmp_path / name / "00000.spacy").is_file()
    done = run("convert", good, tmp_path / "lines.txt", "--to", "jsonl")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "lines.txt").is_file()


def test_convert_lists_what_is_lost_and_fails(lossy: Path, tmp_path: Path) -> None:
    done = run("convert", lossy, tmp_path / "out.spacy")
    assert done.exit_code == 1
    assert "[SP054] 1 of 3 entities are lost" in " ".join(done.output.split())
    rows = (tmp_path / "out.spacy.lost.csv").read_text("utf8").splitlines()
    assert rows == [
        "file,line,text,label,reason",
        "in.jsonl,1,US,GPE,duplicate",
        "in.jsonl,1,S,X,boundaries inside tokens",
    ]
    assert (tmp_path / "out.spacy").exists()


def test_convert_keeps_the_table_of_another_target(lossy: Path, tmp_path: Path) -> None:
    assert run("convert", lossy, tmp_path / "k.spacy").exit_code == 1
    assert run("convert", tmp_path / "k.spacy", tmp_path / "k.conll").exit_code == 0
    assert (tmp_path / "k.spacy.lost.csv").exists()
    assert not (tmp_path / "k.conll.lost.csv").exists()


@pytest.mark.parametrize("target, name", [(".", "here.lost.csv"), ("o", "o.lost.csv")])
def test_convert_puts_the_table_beside_a_folder(
    lossy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    name: str,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = run("convert", lossy, target)
    assert "[SP054]" in done.output
    assert len(list(tmp_path.rglob("*.spacy"))) == 1
    assert [path.name for path in tmp_path.rglob("*.lost.csv")] == [name]


def test_convert_of_a_file_into_itself_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "k.jsonl"
    path.write_text(json.dumps({"text": "Ann left.", "spans": [[0, 3, "X"]]}))
    assert run("convert", path, path).exit_code == 0
    assert json.loads(path.read_text("utf8"))["text"] == "Ann left."


@pytest.mark.parametrize("tolerance, code", [(0.3, 1), (0.34, 0), (1, 0)])
def test_convert_tolerates_a_share(
    lossy: Path, tmp_path: Path, tolerance: float, code: int
) -> None:
    done = run("convert", lossy, tmp_path / "out.spacy", "--tolerance", tolerance)
    assert done.exit_code == code
    assert "boundaries inside tokens" in done.output


def test_convert_counts_what_the_target_cannot_hold(tmp_path: Path) -> None:
    spans = [[0, 3, "X"], [0, 13, "Y"]]
    item = {"text": "Ann left. Bob won.", "spans": spans, "sentences": [0, 10]}
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(item))
    done = run("convert", path, tmp_path / "out.conll", "--window", "doc")
    assert done.exit_code == 1
    assert "6 tokens, 1 entity" in done.output
    assert "[SP054] 1 of 2 entities are lost" in " ".join(done.output.split())


def test_convert_does_not_count_duplicates_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"text": "a b", "spans": 2 * [[0, 1, "X"]]}))
    assert run("convert", path, tmp_path / "out.spacy").exit_code == 0


def test_convert_of_a_broken_line_fails_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a O\nb\n")
    done = run("convert", path, tmp_path / "out.spacy", "-f", "conll")
    assert done.exit_code == 1
    assert "in.txt, line 2" in " ".join(done.output.split())


@pytest.mark.parametrize(
    "options, code",
    [
        (("--to", "xml"), "SP062"),
        (("-f", "xml"), "SP062"),
        (("--align", "loose"), "SP062"),
        (("--tag-columns", "a"), "SP062"),
    ],
)
def test_convert_of_a_choice_that_does_not_exist_fails(
    good: Path, tmp_path: Path, options: tuple, code: str
) -> None:
    done = run("convert", good, tmp_path / "out.spacy", *options)
    assert done.exit_code == 1
    assert code in done.output


@pytest.mark.parametrize("name, to", [("o.jsonl", ""), ("o.conll", ""), ("o", "brat")])
def test_convert_out_and_in_again(
    good: Path, tmp_path: Path, name: str, to: str
) -> None:
    target = tmp_path / name
    assert run("convert", good, target, *(("--to", to) if to else ())).exit_code == 0
    assert run("convert", target, tmp_path / "b.spacy").exit_code == 0
    docs = list(DocBin().from_disk(tmp_path / "b.spacy").get_docs(Vocab()))
    assert [len(doc.spans["ents"]) for doc in docs] == [2, 0]


def test_convert_of_an_unknown_language_fails(good: Path, tmp_path: Path) -> None:
    done = run("convert", good, tmp_path / "out.spacy", "--lang", "qq")
    assert done.exit_code == 1
    assert "qq" in done.output


def test_convert_reads_a_list_of_documents(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("nothing\n")
    (tmp_path / "a.apf.xml").write_text("<x/>")
    done = run(
        "convert",
        tmp_path,
        tmp_path / "o",
        "-f",
        "ace",
        "--documents",
        tmp_path / "list.txt",
    )
    assert done.exit_code == 1
    assert "SP055" in done.output


def test_convert_to_a_folder_writes_files_of_limited_size(
    good: Path, tmp_path: Path
) -> None:
    assert run("convert", good, tmp_path / "o", "--shard-tokens", 3).exit_code == 0
    assert len(list((tmp_path / "o").glob("*.spacy"))) == 2


# ---------------------------------------------------------------------- stats


@pytest.fixture
def corpus(good: Path, tmp_path: Path) -> Path:
    run("convert", good, tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


def test_stats_prints_tables(corpus: Path) -> None:
    done = run("stats", corpus)
    assert done.exit_code == 0
    assert "nested entities" in done.output
    assert "2 (100.0 %)" in done.output


def test_stats_of_several_files_has_a_column_for_each(
    corpus: Path, tmp_path: Path
) -> None:
    other = tmp_path / "dev.spacy"
    other.write_bytes(corpus.read_bytes())
    done = run("stats", corpus, other, "--format", "markdown")
    assert "|  | train | dev |" in done.output


def test_stats_of_files_with_one_name_shows_their_folders(
    corpus: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b" / "train.spacy"
    other.parent.mkdir()
    other.write_bytes(corpus.read_bytes())
    found = json.loads(run("stats", corpus, other, "-f", "json").output)
    assert list(found) == [str(corpus), str(other)]


def test_stats_writes_json(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "stats.json"
    options = ("-f", "json", "-o", path, "--max-width", 1, "--seeds", "1")
    assert run("stats", corpus, *options).exit_code == 0
    found = json.loads(path.read_text("utf8"))["train"]
    assert (found["entities"], found["in_width"], found["by_seed"]) == (2, 1, 1)


@pytest.mark.parametrize(
    "options, code",
    [
        (("-f", "xml"), "SP062"),
        (("--seeds", "x"), "SP062"),
        (("--window", "x"), "SP002"),
        (("--max-window", 4, "--stride", 9), "SP002"),
    ],
)
def test_stats_of_impossible_choices_fails(
    corpus: Path, options: tuple, code: str
) -> None:
    done = run("stats", corpus, *options)
    assert done.exit_code == 1
    assert code in done.output


def test_stats_of_another_file_fails(good: Path) -> None:
    done = run("stats", good)
    assert done.exit_code == 1
    assert "SP056" in done.output


def test_mounting_the_commands_imports_nothing_slow() -> None:
    code = "import sys, spacy_spanner.cli\n"
    code += "print(sorted(m for m in sys.modules if m.startswith('spacy_spanner.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "spacy_spanner.cli.convert" in done.stdout
    assert "spacy_spanner.corpus" not in done.stdout
    assert "spacy_spanner.models.blocks" not in done.stdout
