"""The recipes of the papers run through the workflow, on data in the formats of their
datasets, with a tiny encoder.
"""

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, NamedTuple, Set

import pytest
import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin
from spacy.util import load_config, registry
from spacy.vocab import Vocab

from spacy_spanner.encoders.surroundings import NEIGHBOURS
from spacy_spanner.preflight.recipes import papers_of

from .raw_data import (
    OF_CHINESE,
    PAIRS,
    documents_of,
    without_checksums,
    write_dataset,
)

ROOT = Path(__file__).parents[2]
SCRIPTS = tuple(path.stem for path in (ROOT / "scripts").glob("*.py"))
WITH_DOCUMENTS = ("conll03", "ontonotes5", "ontonotes4", "ace04", "ace05", "kbp17")
# One pair for each model; the others take as long, and are slow tests.
QUICK = {
    ("biaffine", "ace05"),
    ("locate_label", "conll03"),
    ("diffusion", "ontonotes5"),
    ("offset", "msra"),
}


class Checkout(NamedTuple):
    """A copy of the project, and the pipelines that its configs need."""

    folder: Path
    encoder: Path
    taggers: Dict[str, Path]

    def script(self, name: str) -> ModuleType:
        return importlib.import_module(name)

    def corpus(self, dataset: str) -> Path:
        """RETURNS: the folder of a converted dataset."""
        folder = self.folder / "corpus" / dataset
        if not folder.exists():
            write_dataset(dataset, self.folder / "assets")
            self.script("convert").main(dataset, folder, "train")
        return folder

    def options(self, dataset: str, **changes: str) -> Dict[str, str]:
        """RETURNS: the variables of the workflow that several scripts take."""
        other = str(self.taggers["zh" if dataset in OF_CHINESE else "en"])
        return {
            "models": "biaffine locate_label diffusion offset",
            "recipe": "paper",
            "encoder": "minilm",
            "encoder_name": str(self.encoder),
            "config": "",
            "train_parts": "",
            "vectors": other,
            "tagger": other,
            **changes,
        }

    def run(self, dataset: str, **changes: Any) -> Path:
        """RETURNS: the folder of a pipeline, after the whole workflow."""
        corpus, rest = self.corpus(dataset), {"gpu": -1, "seed": 0, "passes": 0}
        rest["epochs"] = changes.pop("epochs", 1)
        options = self.options(dataset, **changes)
        self.script("check_assets").main(dataset, "train", **options)
        training, metrics = self.folder / "training" / dataset, self.folder / "metrics"
        metrics.mkdir(exist_ok=True)
        self.script("count_corpus").main(dataset, corpus, metrics / "counts.md")
        self.script("train").main(dataset, corpus, training, **options, **rest)
        group = {"recipe": options["recipe"], "encoder": options["encoder"]}
        test = corpus / "test.spacy"
        self.script("evaluate").main(training, test, metrics / dataset, **group, gpu=-1)
        self.script("report").main(dataset, metrics / dataset, **group)
        (found,) = training.glob(f"*/{options['models']}_*")
        return found


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, taggers: Dict[str, Path]
) -> Iterator[Checkout]:
    folder = tmp_path_factory.mktemp("papers")
    for part in ("scripts", "configs"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "project.yml", folder)
    without_checksums(folder / "project.yml")
    with pytest.MonkeyPatch.context() as patch:
        for name in SCRIPTS:
            patch.delitem(sys.modules, name, raising=False)
        patch.syspath_prepend(folder / "scripts")
        yield Checkout(folder, tiny_bert, taggers)
        for name in SCRIPTS:
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "model, dataset",
    [
        pytest.param(*pair, marks=[] if pair in QUICK else [pytest.mark.slow])
        for pair in PAIRS
    ],
)
def test_recipe_of_a_paper_runs_from_check_to_report(
    checkout: Checkout,
    model: str,
    dataset: str,
    recwarn: pytest.WarningsRecorder,
) -> None:
    folder = checkout.run(dataset, models=model)
    assert not [one for one in recwarn if "[SW" in str(one.message)]
    parts = papers_of(f"span_{model}")[dataset].about("parts", "train")
    assert folder.parent.name == "paper"
    assert folder.name.startswith(f"{model}_{dataset}_{parts}_{checkout.encoder.name}")
    name = "model-last" if parts == "train+dev" else "model-best"
    assert checkout.script("runs").pipeline_of(folder) == folder / name
    page = (checkout.folder / "metrics" / f"{dataset}_paper.md").read_text("utf8")
    assert f"| {folder.name} | paper | {parts} | {checkout.encoder} |" in page

    config = load_config(folder / name / "config.cfg")
    training = config["training"]
    docs = list(DocBin().from_disk(config["paths"]["train"]).get_docs(Vocab()))
    n_sentences = sum(map(len, documents_of(dataset)))
    if dataset == "msra" and parts == "train":
        n_sentences -= n_sentences // 10
    elif parts == "train+dev" and dataset != "msra":
        n_sentences *= 2
    assert len(docs) == n_sentences
    batches = -(-n_sentences // training["batcher"]["size"])
    assert training["max_steps"] == training["eval_frequency"] == batches
    meta = srsly.read_json(folder / name / "meta.json")
    assert meta["components"] == config["nlp"]["pipeline"]
    scores = srsly.read_json(
        checkout.folder / "metrics" / dataset / "paper" / f"{folder.name}.json"
    )
    assert scores["spans_ents_f"] is not None


@pytest.mark.parametrize("dataset", WITH_DOCUMENTS)
def test_sentences_keep_neighbours_of_their_documents(
    checkout: Checkout, dataset: str
) -> None:
    for part in ("train", "dev", "test", "train+dev"):
        path = checkout.corpus(dataset) / f"{part}.spacy"
        found = [
            [len(side) for side in doc.user_data[NEIGHBOURS]]
            for doc in DocBin().from_disk(path).get_docs(Vocab())
        ]
        expected = [
            [int(n > 0), int(n + 1 < len(document))]
            for document in documents_of(dataset)
            for n in range(len(document))
        ]
        assert found == expected * (2 if part == "train+dev" else 1)


def test_neighbours_are_read_in_training_and_evaluation(checkout: Checkout) -> None:
    corpus = str(checkout.corpus("conll03"))
    path = ROOT / "configs" / "paper" / "locate_label_conll03.cfg"
    config = load_config(path, {"paths.train": corpus, "paths.dev": corpus})
    corpora = registry.resolve(config.interpolate()["corpora"])
    for part in ("train", "dev"):
        examples = list(corpora[part](spacy.blank("en")))
        assert all(NEIGHBOURS in one.predicted.user_data for one in examples)


def names(checkout: Checkout, dataset: str = "conll03", **changes: str) -> Set[str]:
    """RETURNS: the places of results."""
    runs = checkout.script("runs")
    choices = runs.Choices(**checkout.options(dataset, **changes))
    group = runs.group_of(choices.recipe, choices.encoder)
    return {f"{group}/{run.name}" for run in runs.plan_runs(dataset, choices)}


def test_trainings_never_overwrite_each_other(checkout: Checkout) -> None:
    other = shutil.copytree(checkout.encoder, checkout.folder / checkout.encoder.name)
    found = [
        names(
            checkout,
            models="biaffine offset",
            recipe=recipe,
            encoder_name=encoder,
            train_parts=parts,
        )
        for recipe in ("tuned", "paper")
        for encoder in ("", str(checkout.encoder), str(other))
        for parts in ("train", "train+dev")
    ]
    assert len(set().union(*found)) == sum(map(len, found)) == 2 * 3 * 2 * 2


def test_tuned_trainings_have_the_names_of_their_configs(checkout: Checkout) -> None:
    plain = {"recipe": "tuned", "encoder_name": "", "models": "biaffine offset"}
    found = names(checkout, "demo", **plain)
    assert found == {"minilm/biaffine_minilm", "minilm/offset_minilm"}
    joined = names(checkout, "demo", **plain, train_parts="train+dev", encoder="cnn")
    assert joined == {"cnn/biaffine_cnn_train+dev", "cnn/offset_cnn_train+dev"}


@pytest.mark.parametrize(
    "changes, code",
    [
        ({"dataset": "genia", "models": "biaffine"}, "SP085"),
        ({"recipe": "best"}, "SP002"),
        ({"encoder_name": "no/such/encoder"}, "SP015"),
        ({"recipe": "tuned", "encoder": "cnn"}, "SP088"),
        ({"train_parts": "dev"}, "SP090"),
        ({"vectors": ""}, "SP089"),
        ({"config": "own.cfg"}, "SP030"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused_before_work_begins(
    checkout: Checkout,
    changes: Dict[str, str],
    code: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dataset = changes.get("dataset", "conll03")
    checkout.corpus(dataset)
    given = {name: value for name, value in changes.items() if name != "dataset"}
    options = checkout.options(dataset, **given)
    for script, places in (
        ("check_assets", [dataset, "train"]),
        ("train", [dataset, checkout.folder / "corpus" / dataset, checkout.folder]),
    ):
        numbers = {"gpu": -1, "seed": 0, "passes": 0, "epochs": 1}
        with pytest.raises(typer.Exit):
            main = checkout.script(script).main
            main(*places, **options, **(numbers if script == "train" else {}))
        assert f"[{code}]" in capsys.readouterr().err


def test_steps_of_a_paper_follow_the_data(checkout: Checkout, tmp_path: Path) -> None:
    path = ROOT / "configs" / "paper" / "biaffine_conll03.cfg"  # batches of 48
    data = tmp_path / "train.spacy"
    docs = [Doc(Vocab(), words=["word"]) for _ in range(97)]
    DocBin(docs=[*docs, Doc(Vocab())]).to_disk(data)
    paper_steps = checkout.script("train").paper_steps
    expected = {"training.max_steps": 150, "training.eval_frequency": 3}
    for part in ("encoder", "head"):
        expected[f"training.optimizer.{part}.total_steps"] = 150
        expected[f"training.optimizer.{part}.warmup_steps"] = 30
    assert paper_steps(path, data, 0) == expected  # 50 epochs
    found = paper_steps(path, data, 8)
    assert found["training.max_steps"] == 24
    assert found["training.optimizer.head.warmup_steps"] == 5


def test_ablations_start_from_the_recipe_of_a_paper(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    ablations, corpus = checkout.script("ablations"), checkout.corpus("genia")
    plans = []
    monkeypatch.setattr(ablations, "train_rows", lambda plan, *_: plans.append(plan))
    monkeypatch.setattr(ablations, "render", lambda page, dataset, runs, note: note)
    options = checkout.options("genia", models="locate_label")
    del options["config"], options["train_parts"]
    places = ("genia", corpus, corpus / "test.spacy", checkout.folder / "ablations")
    rest: Dict[str, Any] = {"steps": 20, "seeds": "0", "tables": "", "encoders": ""}
    ablations.main(*places, **options, **rest, gpu=-1)
    (plan,) = plans
    assert plan.config == checkout.folder / "configs" / "paper/locate_label_genia.cfg"
    assert plan.overrides["paths.train"] == str(corpus / "train.spacy")
    assert plan.overrides["paths.tagger"] == options["tagger"]
    assert plan.overrides["training.max_steps"] == 20
    assert plan.overrides["training.optimizer.head.warmup_steps"] == 2
    (page,) = (checkout.folder / "ablations").glob("*.md")
    assert page.name.startswith("locate_label_genia_train_bert")
    assert "Base: locate_label_genia, encoder" in page.read_text(encoding="utf8")
