"""Measure what options of training gain and cost, one table for all.

python benchmarks/training_options.py DATA --results FOLDER --seeds 0,1,2
python benchmarks/training_options.py DATA --results FOLDER --options none,twice+conv2

Every run trains one model with one option on one corpus with one seed, at the budget of
PANEL.md, and takes the pipeline that is best on dev. A finished run is a JSON file, so
that an interrupted measurement continues. Gains are differences to the option "none" of
the same corpus and seed; options are judged by those on dev.
"""

from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from statistics import mean, stdev
from types import MappingProxyType
from typing import (
    Any,
    Callable,
    ContextManager,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
)

import typer
from adversarial import adversarial
from common import (
    ENCODER_RATE,
    HEAD_RATE,
    SPANS_KEY,
    build_pipeline,
    start_training,
    take_steps,
    to_examples,
)
from corpora import CORPORA
from dev_thresholds import score_tuned
from measuring import clock, in_fresh_process
from options import DATA
from panel import require_corpora, run_missing
from panel_runs import Budget, Run
from spacy.language import Language
from spacy.training import Example
from thinc.api import warmup_linear

from spacy_spanner.encoders.surroundings import copy_neighbours
from spacy_spanner.evaluation.tables import markdown_table
from spacy_spanner.evaluation.tuning import Goal
from spacy_spanner.files import read_json
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.training.optimizer import make_adamw

HERE = Path(__file__).parent
NONE = "none"
Examples = Dict[str, List[Example]]


def f_of(nlp: Language, examples: Sequence[Example]) -> float:
    """RETURNS (float): F1."""
    return float(scores_of(nlp, examples, SPANS_KEY)["f"] or 0.0)


class Option(NamedTuple):
    """What differs from the defaults.

    settings (str): of the component, as in a system of the panel.
    optimizer (Mapping[str, Any]): settings of AdamW.
    rates (Mapping[str, float]): factors of the learning rates of "encoder" and "head".
    falling (bool): whether the learning rates fall to 0.
    times (int): how many times as many updates there are.
    around (Callable): what training is done in.
    """

    settings: str = ""
    optimizer: Mapping[str, Any] = MappingProxyType({})
    rates: Mapping[str, float] = MappingProxyType({})
    falling: bool = True
    times: int = 1
    around: Callable[[], ContextManager] = nullcontext

    def __or__(self, other: "Option") -> "Option":
        """RETURNS (Option): both at once; what is done around training comes from the
        other one if it does anything.
        """
        return Option(
            f"{self.settings} {other.settings}".strip(),
            {**self.optimizer, **other.optimizer},
            {**self.rates, **other.rates},
            self.falling and other.falling,
            self.times * other.times,
            self.around if other.around is nullcontext else other.around,
        )


AVERAGED: Mapping[str, Any] = MappingProxyType({"use_averages": True})
PARTS = {"encoder": ["encoder"], "head": ["head"], "all": ["encoder", "head"]}
# Averages and thresholds do not change the weights that are trained.
OPTIONS: Dict[str, Option] = {
    NONE: Option(optimizer=AVERAGED),
    "constant": Option(optimizer=AVERAGED, falling=False),
    "twice": Option(times=2),
    "conv": Option("model.conv_layers=1"),
    "conv2": Option("model.conv_layers=2"),
    "conv3": Option("model.conv_layers=3"),
    "adversarial": Option(around=lambda: adversarial(1.0)),
    "r_drop": Option("r_drop=1.0"),
    "r_drop5": Option("r_drop=5.0"),
    "layer_decay95": Option(optimizer={"layer_decay": 0.95}),
    "layer_decay8": Option(optimizer={"layer_decay": 0.8}),
    "context": Option("model.tok2vec.context=1"),
    **{
        f"{part}_rate{n}": Option(rates=dict.fromkeys(parts, float(n)))
        for part, parts in PARTS.items()
        for n in (2, 3, 4)
    },
}


def option_of(name: str) -> Option:
    """RETURNS (Option): one of `OPTIONS`, or several whose names are joined by "+"."""
    return reduce(or_, (OPTIONS[part] for part in name.split("+")))


# How a pipeline is scored that was trained without an option.
TUNED = {"threshold": Goal(), "label_thresholds": Goal(per_label=True)}


@dataclass(frozen=True)
class OptionRun(Run):
    """A run of the panel with an option of `OPTIONS`."""

    option: str = NONE

    def __str__(self) -> str:
        return f"{self.option}: {super().__str__()}"


def read_examples(run: OptionRun, nlp: Language, data: Path) -> Examples:
    """RETURNS (Examples): by split; sentences keep their neighbours."""
    corpus, limit = CORPORA[run.corpus], run.budget.max_sentences
    docs = corpus.read(data, nlp, max_sentences=limit)
    examples = {split: to_examples(part) for split, part in docs.items()}
    for part in examples.values():
        for example in part:
            copy_neighbours(example.reference, example.predicted)
    return examples


def make_optimizer(run: OptionRun, n_steps: int) -> Any:
    """RETURNS (AdamW): with the rates of the panel."""
    option = option_of(run.option)
    is_cnn = run.encoder == "cnn"
    warm_up = 0 if is_cnn else n_steps // 10
    usual = {"encoder": HEAD_RATE if is_cnn else ENCODER_RATE, "head": HEAD_RATE}
    rates: Dict[str, Any] = {k: v * option.rates.get(k, 1.0) for k, v in usual.items()}
    if option.falling:
        rates = {k: warmup_linear(rate, warm_up, n_steps) for k, rate in rates.items()}
    return make_adamw(**rates, **option.optimizer)


def measure(run: OptionRun, data: Path) -> Dict[str, Any]:
    """Train with an option, and choose the best pipeline on dev.

    RETURNS (Dict[str, Any]): the run, F1 by option and split, and the seconds of its
        updates.
    """
    lang = CORPORA[run.corpus].dataset.lang
    nlp = build_pipeline(run.factory, run.encoder, run.settings, lang=lang)
    examples = read_examples(run, nlp, data)
    states, seconds = train(run, nlp, examples)
    f1: Dict[str, Dict[str, float]] = {}
    for name, state in states.items():
        nlp.from_bytes(state)
        f1[name] = {split: f_of(nlp, examples[split]) for split in ("dev", "test")}
    if run.option == NONE:
        for name, goal in TUNED.items():
            nlp.from_bytes(states[NONE])
            f1[name] = score_tuned(nlp, examples, goal)
    scores = {"f": f1[run.option]["dev"]}
    return {**asdict(run), "scores": scores, "f1": f1, "seconds": seconds}


def train(
    run: OptionRun, nlp: Language, examples: Examples
) -> Tuple[Dict[str, bytes], float]:
    """RETURNS (Tuple[Dict[str, bytes], float]): the best pipeline on dev, with the
    weights and, if there are any, with their averages; and the seconds of all updates.
    """
    option, budget = option_of(run.option), run.budget
    start_training(nlp, examples["train"], run.seed)
    n_steps = option.times * budget.n_steps(len(examples["train"]))
    optimizer = make_optimizer(run, n_steps)
    looks = {n_steps * n // budget.looks for n in range(1, budget.looks + 1)}
    steps = {"n_steps": n_steps, "batch_size": budget.batch_size, "seed": run.seed}
    best: Dict[str, Tuple[float, bytes]] = {}
    seconds = 0.0
    with option.around():
        start = clock()
        for step in take_steps(nlp, examples["train"], optimizer, **steps):
            if step not in looks:
                continue
            seconds += clock() - start
            weights = {run.option: {}, f"{run.option} averages": optimizer.averages}
            for name, params in weights.items():
                if params is None:
                    continue
                with nlp.use_params(params):
                    f = f_of(nlp, examples["dev"])
                    if f > best.get(name, (-1.0,))[0]:
                        best[name] = f, nlp.to_bytes()
            start = clock()
    return {name: state for name, (_, state) in best.items()}, seconds


def to_row(name: str, results: Sequence[Dict[str, Any]]) -> List[str]:
    """RETURNS (List[str]): mean F1 on dev by corpus, gains and cost of an option."""
    base = {place_of(one): one for one in results if one["option"] == NONE}
    own = {place_of(one): one for one in results if name in one["f1"]}
    pairs = {
        place: (one["f1"][name], base[place]["f1"][NONE], one["seconds"])
        for place, one in own.items()
        if place in base
    }
    cells = []
    for corpus in dict.fromkeys(one["corpus"] for one in results):
        found = [
            100 * f1["dev"] for place, (f1, *_) in pairs.items() if place[0] == corpus
        ]
        cells.append(f"{mean(found):.1f}" if found else "-")
    seeds = sorted({place[-1] for place in pairs})
    for split in ("dev", "test"):
        gains = [
            mean(
                100 * (f1[split] - without[split])
                for place, (f1, without, _) in pairs.items()
                if place[-1] == seed
            )
            for seed in seeds
        ]
        spread = f" ± {stdev(gains):.1f}" if len(gains) > 1 else ""
        cells.append(f"{mean(gains):+.1f}{spread}" if gains else "-")
    ratios = [pairs[place][2] / base[place]["seconds"] for place in pairs]
    time = f"{mean(ratios):.2f}" if ratios else "-"
    return [name, str(len(seeds)), *cells, time]


def place_of(result: Dict[str, Any]) -> Tuple[str, str, int]:
    """RETURNS (Tuple): what a run has in common with that of another option."""
    return result["corpus"], result["encoder"], result["seed"]


def main(
    data: Path = DATA,
    options: str = typer.Option(
        ",".join(OPTIONS), help="Comma-separated options; a+b for two at once"
    ),
    corpora: str = typer.Option("demo,genia,bc5cdr", help="Comma-separated corpora"),
    system: str = typer.Option("span_biaffine", help="Factory, with settings"),
    encoder: str = typer.Option("cnn", help="cnn or minilm"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    epochs: int = typer.Option(6, help="Passes over the training data"),
    min_steps: int = typer.Option(300, help="Updates, if the passes make fewer"),
    max_sentences: int = typer.Option(500, help="Limit for train and dev; 0 for none"),
    results: Path = typer.Option(HERE / "results" / "options", help="Folder"),
) -> None:
    """Train what is missing, and print the table."""
    require_corpora(corpora, data)
    budget = Budget(epochs, min_steps, 8, 3, max_sentences)
    names = options.split(",")
    runs: Dict[Path, OptionRun] = {}
    for seed in map(int, seeds.split(",")):
        for name in names:
            for corpus in corpora.split(","):
                whole = f"{system} {option_of(name).settings}".strip()
                run = OptionRun(corpus, encoder, 100, whole, seed, budget, name)
                runs[run.path(data, results)] = run
    missing = {path: run for path, run in runs.items() if not path.exists()}
    run_missing(missing, lambda run: in_fresh_process(measure, run, data))
    found = [read_json(path) for path in runs if path.exists()]
    head = ["option", "seeds", *corpora.split(","), "gain on dev", "on test", "time"]
    shown = dict.fromkeys(name for one in found for name in one["f1"])
    print(markdown_table(head, [to_row(name, found) for name in shown]))


if __name__ == "__main__":
    typer.run(main)
