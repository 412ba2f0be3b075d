"""The datasets of the workflow: files, checks, parts and counts."""

import importlib
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, List

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.util import load_config, load_model_from_config
from spacy.vocab import Vocab

ROOT = Path(__file__).parents[2]
PROJECT: Dict[str, Any] = srsly.read_yaml(ROOT / "project.yml")
ASSETS: List[Dict[str, Any]] = PROJECT["assets"]
MODULES = ("datasets", "runs", "check_assets", "convert", "count_corpus", "report")
MODULES += ("train",)
NAMES = (
    *("demo", "demo_zh", "conll03", "ontonotes5", "ontonotes4", "ace04", "ace05"),
    *("kbp17", "genia", "msra", "weibo", "resume", "wnut17"),
)
# A bare minimum of sentences in columns, with one entity each.
SENTENCE = "Ann B-PER\nleft O\n\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the scripts, with which modules can be imported."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "project.yml", tmp_path)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "scripts")
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def put(checkout: Path, name: str, content: str) -> None:
    path = checkout / "assets" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf8")


def put_weibo(checkout: Path) -> None:
    for part in ("train", "dev", "test"):
        put(checkout, f"weibo/weiboNER_2nd_conll.{part}", SENTENCE)


def converted(checkout: Path, split: str) -> List[List[tuple]]:
    docs = DocBin().from_disk(checkout / "corpus" / f"{split}.spacy").get_docs(Vocab())
    return [[(s.text, s.label_) for s in doc.spans["ents"]] for doc in docs]


# ----------------------------------------------------------------- the project


def test_all_datasets_are_there(checkout: Path) -> None:
    assert set(load("datasets").DATASETS) == set(NAMES)


def test_assets_of_the_project_are_the_files_of_the_datasets(checkout: Path) -> None:
    wanted = set()
    for name, dataset in load("datasets").DATASETS.items():
        if name not in ("demo", "demo_zh"):
            for split in ("train", "dev", "test"):
                part = getattr(dataset, split)
                lists = dataset.lists.format(split=split)
                wanted |= {f"assets/{name}/{x}" for x in (part, lists) if x}
    assert {asset["dest"] for asset in ASSETS} == wanted


@pytest.mark.parametrize("asset", ASSETS, ids=lambda asset: asset["dest"])
def test_asset_is_described_and_points_at_a_fixed_version(asset: dict) -> None:
    assert asset["description"]
    if "url" in asset:
        assert re.match(
            r"https://raw\.githubusercontent\.com/.+/[0-9a-f]{40}/", asset["url"]
        )
    if "checksum" in asset:
        assert re.fullmatch(r"[0-9a-f]{32}", asset["checksum"])
        assert "url" in asset


@pytest.mark.parametrize("name", NAMES)
def test_page_about_datasets_names_each(name: str) -> None:
    page = (ROOT / "docs" / "datasets.md").read_text(encoding="utf8")
    assert f"`{name}`" in page


# ---------------------------------------------------------------------- checks


def check(name: str, capsys: pytest.CaptureFixture, **options: str) -> str:
    with pytest.raises(SystemExit) as caught:
        load("check_assets").check_files(name, **options)
    assert caught.value.code == 1
    return " ".join(capsys.readouterr().out.split())


def test_check_of_missing_public_files_says_how_to_fetch_them(
    checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    put(checkout, "weibo/weiboNER_2nd_conll.dev", SENTENCE)
    shown = check("weibo", capsys)
    assert "weiboNER_2nd_conll.train, weiboNER_2nd_conll.test" in shown
    assert "project assets" in shown


@pytest.mark.parametrize("name", ["ace05", "kbp17", "ontonotes5", "ontonotes4"])
def test_check_of_missing_licensed_files_names_the_page(
    checkout: Path, capsys: pytest.CaptureFixture, name: str
) -> None:
    assert "docs/datasets.md" in check(name, capsys)


def test_check_of_a_missing_list_of_documents_names_it(
    checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    put(checkout, "ace04/data/a.sgm", "")
    for part in ("train", "test"):
        put(checkout, f"ace04/splits/{part}.txt", "a")
    assert "Missing in assets/ace04: splits/dev.txt" in check("ace04", capsys)


def test_check_of_a_changed_file_shows_both_sums(
    checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    put_weibo(checkout)
    shown = check("weibo", capsys)
    assert "weiboNER_2nd_conll.dev (MD5" in shown
    assert "instead of 1c0d3912fb7162d9c36450efe34dedd4" in shown


def test_check_of_genia_wants_only_the_parts_that_are_used(
    checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    for part in ("dev", "test"):
        put(checkout, f"genia/genia.{part}.iob2", SENTENCE)
    assert "Missing in assets/genia: genia.train.iob2" in check("genia", capsys)
    assert "has unexpected content" in check("genia", capsys, genia_train="dev")


def test_check_of_a_complete_dataset_passes(
    checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    for part in ("train", "test"):
        put(checkout, f"msra/msra_{part}_bio.txt", SENTENCE)
    load("check_assets").check_files("msra")
    assert "is complete" in capsys.readouterr().out


# ----------------------------------------------------------------------- parts


def convert(checkout: Path, name: str, genia_train: str = "train") -> dict:
    dataset = load("datasets").get_dataset(name, genia_train)
    return load("convert").convert(dataset, checkout / "corpus")


def test_conversion_holds_each_tenth_document_out(checkout: Path) -> None:
    numbered = "".join(f"Ann{n} B-PER\n\n" for n in range(1, 26))
    put(checkout, "msra/msra_train_bio.txt", numbered)
    put(checkout, "msra/msra_test_bio.txt", SENTENCE)
    counts = convert(checkout, "msra")
    assert [counts[split]["documents"] for split in counts] == [23, 2, 1]
    assert converted(checkout, "dev") == [[("Ann10", "PER")], [("Ann20", "PER")]]
    joined = [converted(checkout, part) for part in ("train", "dev", "train+dev")]
    assert joined[2] == joined[0] + joined[1]


def test_conversion_of_genia_trains_on_the_part_that_is_asked(checkout: Path) -> None:
    for n, part in enumerate(("train", "dev", "test"), start=1):
        put(checkout, f"genia/genia.{part}.iob2", n * 10 * SENTENCE)
    counts = convert(checkout, "genia")
    assert [counts[split]["documents"] for split in counts] == [10, 20, 30]
    counts = convert(checkout, "genia", "dev")
    assert [counts[split]["documents"] for split in counts] == [18, 2, 30]


def test_conversion_of_conll_2003_splits_documents(checkout: Path) -> None:
    text = "-DOCSTART- -X- O O\n\nAnn NNP I-NP I-PER\n\nBob NNP I-NP I-PER\n"
    for name in ("eng.train", "eng.testa", "eng.testb"):
        put(checkout, f"conll03/{name}", text)
    convert(checkout, "conll03")
    assert converted(checkout, "test") == [[("Ann", "PER")], [("Bob", "PER")]]


def test_conversion_of_lists_reads_their_documents(checkout: Path) -> None:
    apf = '<document><entity TYPE="PER"><entity_mention><extent><charseq START="0" '
    apf += 'END="2">Ann</charseq></extent></entity_mention></entity></document>'
    for name in "abc":
        put(checkout, f"ace05/data/bn/{name}.sgm", "<TEXT>Ann left.</TEXT>")
        put(checkout, f"ace05/data/bn/{name}.apf.xml", apf)
    for part, names in {"train": "bn/a\nb.sgm\n", "dev": "c", "test": "c"}.items():
        put(checkout, f"ace05/splits/{part}.txt", names)
    counts = convert(checkout, "ace05")
    assert [counts[split]["entities"] for split in counts] == [2, 1, 1]


def test_conversion_lists_what_is_lost(checkout: Path) -> None:
    apf = '<document><entity TYPE="PER"><entity_mention><extent><charseq START="1" '
    apf += 'END="2">nn</charseq></extent></entity_mention></entity></document>'
    put(checkout, "ace05/data/a.sgm", "<TEXT>Ann left.</TEXT>")
    put(checkout, "ace05/data/a.apf.xml", apf)
    for part in ("train", "dev", "test"):
        put(checkout, f"ace05/splits/{part}.txt", "a")
    assert convert(checkout, "ace05")["test"]["entities lost"] == 1
    table = (checkout / "corpus" / "test.lost.csv").read_text(encoding="utf8")
    assert "a.apf.xml,1,nn,PER,boundaries inside tokens" in table


def test_conversion_without_files_stops(checkout: Path) -> None:
    with pytest.raises(SystemExit, match="There is no train in"):
        convert(checkout, "kbp17")


@pytest.mark.parametrize("name, genia", [("conll", "train"), ("genia", "test")])
def test_unknown_names_are_told(checkout: Path, name: str, genia: str) -> None:
    with pytest.raises(SystemExit, match=r"conll03|train or dev"):
        load("datasets").get_dataset(name, genia)


def test_training_on_sentences_needs_no_sentencizer(checkout: Path) -> None:
    config = ROOT / "configs" / "biaffine_cnn.cfg"
    overrides = load("train").overrides
    given = overrides(config, "weibo", Path("corpus"), 0)
    assert given["nlp.pipeline"] == ["span_biaffine"]
    assert given["training.annotating_components"] == []
    assert given["nlp.lang"] == "zh"
    assert "nlp.pipeline" not in overrides(config, "demo", Path("corpus"), 0)


def test_larger_corpora_get_more_steps(checkout: Path, tmp_path: Path) -> None:
    enough_steps = load("train").enough_steps
    config = ROOT / "configs" / "biaffine_minilm.cfg"  # 400 steps of 160 words
    doc = Doc(spacy.blank("en").vocab, words=["word"] * 16_000)
    data = tmp_path / "train.spacy"
    DocBin(docs=[doc]).to_disk(data)
    assert enough_steps(config, data, 4) == {}
    assert enough_steps(config, data, 0) == {}
    found = enough_steps(config, data, 5)
    assert found["training.max_steps"] == 500
    assert found["training.optimizer.head.total_steps"] == 500
    found = load("train").budget(config, 509)  # a prime number
    assert found["training.max_steps"] % found["training.eval_frequency"] == 0
    assert 509 <= found["training.max_steps"] < 520
    assert found["training.optimizer.head.total_steps"] == found["training.max_steps"]
    load_model_from_config(load_config(config, overrides=found, interpolate=True))


def test_english_encoder_for_another_language_warns(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_language = load("train").warn_of_language
    warn_of_language("demo", "minilm")
    warn_of_language("weibo", "cnn")
    assert not capsys.readouterr().out
    warn_of_language("weibo", "minilm")
    assert "--vars.encoder cnn" in capsys.readouterr().out


# ---------------------------------------------------------------------- counts


def test_expected_counts_are_those_of_known_parts() -> None:
    table = srsly.read_json(ROOT / "scripts" / "expected_counts.json")
    assert set(table) <= set(NAMES)
    for parts in table.values():
        assert set(parts) <= {"train", "dev", "test", "train+dev"}
        for counts in parts.values():
            assert {"sentences", "entities"} <= set(counts)
            assert all(isinstance(n, int) for found in counts.values() for n in found)


def test_counts_that_differ_are_shown_with_both_numbers(
    checkout: Path, capsys: pytest.CaptureFixture
) -> None:
    put_weibo(checkout)
    dataset = load("datasets").get_dataset("weibo")
    load("convert").convert(dataset, checkout / "corpus" / "weibo")
    page = checkout / "metrics" / "weibo.md"
    load("count_corpus").main("weibo", checkout / "corpus" / "weibo", page)
    assert "train: 1 entities, papers: 1,855" in capsys.readouterr().out
    assert "| train, entities | 1 | 1,855 | -1,854 |" in page.read_text("utf8")


def test_compare_joins_parts_and_accepts_any_of_several_numbers(
    checkout: Path,
) -> None:
    module = load("count_corpus")
    counts = {
        split: module.Statistics(sentences=n, entities=2 * n)
        for split, n in (("train", 10), ("dev", 3))
    }
    expected = {"train+dev": {"sentences": [12, 13]}, "dev": {"entities": [5]}}
    joined, dev = module.compare(counts, expected)
    assert (joined.counted, joined.agrees) == (13, True)
    assert (dev.counted, dev.expected, dev.agrees) == (6, [5], False)
