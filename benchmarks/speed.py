"""Compare words per second in training and prediction.

python benchmarks/speed.py DATA --encoder minilm

All systems run in one process and take turns: each round trains every system for one
pass over the same texts, and then lets every system predict the same texts. Ratios are
computed within a round, and medians over the rounds are reported. "encoder" is the
tok2vec layer of the other pipelines alone. With `--encoder minilm` there are also
"transformers", a plain torch loop, and "spacy-transformers" with a listener.
"""

import gc
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import spacy
import typer
from common import read_corpus
from measuring import clock, write_json
from options import DATA, DATASET, ENCODER, OUTPUT, SYSTEMS
from runners import BARE, BASELINES, Runner, exhaust, make_runner
from spacy.tokens import Doc
from texts import TEXTS, bare, choose_texts
from wasabi import table

WARM_UP = 300  # words for each system to warm up

# Words per second of each system in a round, None for systems that are not trained.
Round = Dict[str, Optional[float]]


class Rounds(NamedTuple):
    """The measurements: a dictionary of all systems for each round."""

    training: List[Round]
    prediction: List[Round]


def run_rounds(
    runners: Dict[str, Runner], train: List[Doc], test: List[Doc], n_rounds: int
) -> Rounds:
    """Let the systems take turns.

    runners (Dict[str, Runner]): the systems by name.
    train, test (List[Doc]): documents for training and prediction.
    RETURNS (Rounds): words per second.
    """
    able = {name for name, runner in runners.items() if runner.start(train)}
    warm_up = choose_texts(train, "sentences", WARM_UP)
    for name, runner in runners.items():
        if name in able:
            exhaust(runner.train(warm_up))
        runner.predict(list(map(bare, warm_up)))
    rounds = Rounds([], [])
    for _ in range(n_rounds):
        rounds.training.append(
            {
                name: _train_once(runner, train) if name in able else None
                for name, runner in runners.items()
            }
        )
        rounds.prediction.append(
            {name: _predict_once(runner, test) for name, runner in runners.items()}
        )
    return rounds


def _train_once(runner: Runner, docs: List[Doc]) -> float:
    return _speed(docs, lambda: exhaust(runner.train(docs)))


def _predict_once(runner: Runner, docs: List[Doc]) -> float:
    fresh = list(map(bare, docs))
    return _speed(docs, lambda: runner.predict(fresh))


def _speed(docs: List[Doc], work: Callable[[], None]) -> float:
    """RETURNS (float): words per second, after collecting the garbage of others."""
    gc.collect()
    start = clock()
    work()
    return sum(map(len, docs)) / (clock() - start)


def summarize(rounds: Rounds) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): a row for each system: medians, and medians of
    the ratios to the first system and to the encoder alone.
    """
    rows = []
    for name in rounds.prediction[0]:
        row: Dict[str, Any] = {"system": name}
        for kind, measured in rounds._asdict().items():
            first = next(iter(measured[0]))
            row[kind] = _median([one[name] for one in measured])
            row[f"{kind}_ratio"] = _ratio(measured, name, first)
            row[f"{kind}_to_encoder"] = _ratio(measured, name, BARE)
        rows.append(row)
    return rows


def _ratio(rounds: List[Round], name: str, base: str) -> Optional[float]:
    pairs = [(one[name], one[base]) for one in rounds]
    return _median([a / b if a and b else None for a, b in pairs])


def _median(values: List[Optional[float]]) -> Optional[float]:
    known = [value for value in values if value is not None]
    return median(known) if known else None


COLUMNS = {
    "training": ("train w/s", "{:,.0f}"),
    "training_ratio": ("to first", "{:.2f}"),
    "training_to_encoder": ("to encoder", "{:.2f}"),
    "prediction": ("predict w/s", "{:,.0f}"),
    "prediction_ratio": ("to first", "{:.2f}"),
    "prediction_to_encoder": ("to encoder", "{:.2f}"),
}


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    cells = [
        "-" if result[key] is None else form.format(result[key])
        for key, (_, form) in COLUMNS.items()
    ]
    return [result["system"], *cells]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = SYSTEMS,
    encoder: str = ENCODER,
    texts: str = typer.Option("sentences", help=f"One of {', '.join(TEXTS)}"),
    batch_size: int = typer.Option(8, help="Batch size in training"),
    pipe_batch_size: int = typer.Option(256, help="Batch size in prediction"),
    words: int = typer.Option(10_000, help="Approximate number of words"),
    rounds: int = typer.Option(3, help="Number of rounds"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Compare the speed of the models with that of their encoder alone."""
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    train, test = (choose_texts(docs, texts, words) for docs in corpus)
    # The other baselines truncate documents that are too long for the transformer.
    baselines = [BARE] if texts == "documents" else BASELINES[encoder]
    systems = [*baselines, *filter(None, models.split(","))]
    runners = {
        system: make_runner(system, encoder, batch_size, pipe_batch_size)
        for system in systems
    }
    measured = run_rounds(runners, train, test, rounds)
    results = summarize(measured)
    header = ("system", *(title for title, _ in COLUMNS.values()))
    rows = [to_row(result) for result in results]
    print(table(rows, header=header, divider=True, aligns=("l", *"rrrrrr")))
    if output is not None:
        setup = {"dataset": dataset, "encoder": encoder, "texts": texts}
        setup.update(batch_size=batch_size, pipe_batch_size=pipe_batch_size)
        setup.update(train_words=sum(map(len, train)), test_words=sum(map(len, test)))
        write_json(output, results, setup=setup, rounds=measured._asdict())


if __name__ == "__main__":
    typer.run(main)
