"""F1, calibration, speed and memory of trained pipelines in every precision.

python benchmarks/precision.py DATA --models span_biaffine,span_offset --seeds 0,1,2

Every model is trained with MiniLM, or read from `--stored`. Then the systems take turns
to predict the same sentences: the plain float32 loop, spacy-transformers, spancat and
each precision. Speeds are the best of the rounds, F1 and the calibration error are
those of the whole test split.
"""

import gc
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import spacy
import typer
from common import build_pipeline, read_corpus, to_examples, train_from_start
from corpora import draw
from measuring import clock, in_fresh_process, write_json
from options import DATA, DATASET, OUTPUT
from runners import LISTENED, PLAIN, exhaust, make_runner
from spacy.language import Language
from spacy.tokens import Doc
from texts import bare, choose_texts
from wasabi import table

from spacy_spanner import set_precision
from spacy_spanner.encoders.fast.processor import FLOAT32, PRECISIONS, is_fast
from spacy_spanner.evaluation.precision_trials import measure
from spacy_spanner.evaluation.tables import percent

MODELS = "span_biaffine,span_locate_label,span_offset"
SPANCAT = "spancat"
HEADER = ("system", "seed", "precision", "words/s", "to plain", "F1", "ECE", "peak MB")


def trained(
    system: str, seed: int, *, dataset: str, data: Path, stored: Path, **budget: Any
) -> Language:
    """RETURNS (Language): a pipeline from the folder of stored ones, trained before if
    it is not there.

    budget: `epochs`, and `sentences` to draw from the train split (0 for all).
    """
    folder = stored / f"{dataset}-{system}-{seed}"
    if not folder.exists():
        nlp = build_pipeline(system, "minilm")
        docs = read_corpus(dataset, data, nlp).train
        docs = draw(docs, budget["sentences"] or len(docs), seed=seed)
        epochs = budget["epochs"]
        examples = to_examples(docs)
        train_from_start(nlp, examples, encoder="minilm", epochs=epochs, seed=seed)
        stored.mkdir(parents=True, exist_ok=True)
        nlp.to_disk(folder)
    # In float32 itself, also if the training was in mixed precision.
    mixed = f"components.{system}.model.tok2vec.mixed_precision"
    return spacy.load(folder, config={mixed: False})


def measure_model(
    system: str, seed: int, *, words: int, rounds: int, test: int, **place: Any
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): a row for each system and precision.

    words (int): approximate number of words for the speed.
    test (int): sentences of the test split to score; 0 for all.
    """
    nlp = trained(system, seed, **place)
    docs = read_corpus(place["dataset"], place["data"], nlp).test
    precisions = [one for one in PRECISIONS[:3] if is_fast(one, "cpu")]
    scored = to_examples(docs[: test or len(docs)])
    trials = {one: measure(nlp, scored, "ents", one) for one in precisions}
    texts = choose_texts(docs, "sentences", words)
    speeds = take_turns(nlp, texts, precisions, rounds)
    rows = []
    for name, speed in speeds.items():
        found = trials[name]._asdict() if name in trials else {}
        row = {**found, "system": system if found else name, "seed": seed}
        row.update(precision=name if found else FLOAT32, words_per_second=speed)
        rows.append({**row, "to_plain": speed / speeds[PLAIN]})
    return rows


def take_turns(
    nlp: Language, texts: List[Doc], precisions: List[str], rounds: int
) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): words per second by system or precision."""
    runners = {name: make_runner(name, "minilm", 8, 256) for name in (PLAIN, LISTENED)}
    runners[SPANCAT] = make_runner(SPANCAT, "minilm", 8, 256)
    runners[SPANCAT].start(texts)  # untrained: its speed alone

    def predict(precision: str) -> None:
        set_precision(nlp, precision)
        exhaust(nlp.pipe(list(map(bare, texts)), batch_size=256))

    work: Dict[str, Callable[[], None]] = {}
    for name, runner in runners.items():
        work[name] = lambda runner=runner: runner.predict(list(map(bare, texts)))
    for one in precisions:
        work[one] = lambda one=one: predict(one)
    n_words = sum(map(len, texts))
    speeds: Dict[str, float] = {}
    for _ in range(rounds):
        for name, run in work.items():
            gc.collect()
            start = clock()
            run()
            speed = n_words / (clock() - start)
            speeds[name] = max(speed, speeds.get(name, 0.0))
    return speeds


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    memory = result.get("memory_mb")
    return [
        result["system"],
        str(result["seed"]),
        result["precision"],
        f"{result['words_per_second']:,.0f}",
        f"{result['to_plain']:.2f}",
        percent(result.get("f")),
        percent(result.get("ece")),
        "-" if memory is None else f"{memory:,.0f}",
    ]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = MODELS,
    seeds: str = typer.Option("0", help="Comma-separated seeds"),
    stored: Path = typer.Option(Path("training"), help="Folder of trained pipelines"),
    epochs: int = typer.Option(3),
    sentences: int = typer.Option(0, help="Training sentences to draw; 0 for all"),
    words: int = typer.Option(3_000, help="Approximate number of words for the speed"),
    test: int = typer.Option(0, help="Test sentences to score; 0 for all"),
    rounds: int = typer.Option(3, help="Number of rounds"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Measure every model in every precision that this machine is fast in."""
    place = {"dataset": dataset, "data": data, "stored": stored}
    place.update(epochs=epochs, sentences=sentences)
    sizes = {"words": words, "rounds": rounds, "test": test}
    results = []
    for seed in map(int, seeds.split(",")):
        for model in models.split(","):
            rows = in_fresh_process(measure_model, model, seed, **sizes, **place)
            print("\n".join(" ".join(to_row(row)) for row in rows), flush=True)
            results.extend(rows)
    aligns = ("l", "r", "l", *"rrrrr")
    rows = [to_row(one) for one in results]
    print(table(rows, header=HEADER, divider=True, aligns=aligns))
    if output is not None:
        setup = {"dataset": dataset, "epochs": epochs, "sentences": sentences, **sizes}
        write_json(output, results, setup=setup)


if __name__ == "__main__":
    typer.run(main)
