"""Analyse the two stages of span_locate_label: lengths, offsets, filter and proposals.

python benchmarks/locate_label_analysis.py DATA --encoder cnn --epochs 20
python benchmarks/locate_label_analysis.py DATA --pipeline training/mine/model-best
python benchmarks/locate_label_analysis.py test.spacy --pipeline PATH

--plot draws lengths and offsets and requires matplotlib.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
import spacy
import typer
from common import (
    build_pipeline,
    read_corpus,
    read_settings,
    to_examples,
    train_from_start,
)
from measuring import write_json
from options import DATASET, ENCODER, OUTPUT
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from torch import Tensor
from wasabi import table

from spacy_spanner.evaluation.counts import Reading, SpanKey, count_groups
from spacy_spanner.evaluation.landscape import prepare_examples
from spacy_spanner.evaluation.predicting import read_corpus as read_spacy
from spacy_spanner.evaluation.predicting import read_predictions
from spacy_spanner.layers.head_work import HeadWork
from spacy_spanner.models.locate_label.codec import Located, LocateLabelCodec
from spacy_spanner.models.locate_label.module import SpanReader, Spans
from spacy_spanner.pipeline.survey import plan_docs

FACTORY = "span_locate_label"
ANY_LENGTH = 10**9
GROUPS = {
    "1-4": (1, 4),
    "5-9": (5, 9),
    "10+": (10, ANY_LENGTH),
    "all": (1, ANY_LENGTH),
}
LARGEST_OFFSET = 5
DOCS_AT_ONCE = 256


@dataclass(frozen=True)
class WatchedCodec(LocateLabelCodec):
    """The codec, recording the output of the first stage."""

    seen: List[Tuple[int, Located]] = field(default_factory=list)

    def locate(self, reader: SpanReader, seeds: Spans) -> Located:
        """Record the number of seeds, and the kept seeds with their new boundaries."""
        located = super().locate(reader, seeds)
        self.seen.append((len(seeds.window), located))
        return located


class FirstStage(NamedTuple):
    """Counts of the first stage over a corpus.

    n_seeds, n_kept, n_proposals (int): seeds before the filter, seeds after it, and
        distinct spans after the regressor.
    offsets (Dict[str, Counter]): frequency of each offset, for "start" and "end".
    """

    n_seeds: int
    n_kept: int
    n_proposals: int
    offsets: Dict[str, Counter]


def trained_pipeline(
    data: Path, dataset: str, encoder: str, epochs: int, settings: Dict[str, Any]
) -> Language:
    """RETURNS (Language): a pipeline trained on the train split with batch size 8."""
    nlp = build_pipeline(FACTORY, encoder, settings)
    examples = to_examples(read_corpus(dataset, data, nlp).train)
    train_from_start(nlp, examples, encoder=encoder, epochs=epochs)
    return nlp


def find_component(nlp: Language) -> str:
    """RETURNS (str): the name of the first span_locate_label component."""
    names = [
        name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == FACTORY
    ]
    if not names:
        raise typer.BadParameter(f"the pipeline has no {FACTORY}")
    return names[0]


def read_test(data: Path, dataset: str, nlp: Language, key: str) -> List[Example]:
    """RETURNS (List[Example]): a `.spacy` file, or the test split of a dataset."""
    if data.is_file():
        return read_spacy(data, nlp, key)
    return to_examples(read_corpus(dataset, data, nlp).test)


def watch_first_stage(pipe: Any, docs: Sequence[Doc]) -> FirstStage:
    """Run the first stage on documents and record its output.

    pipe (SpanRecognizer): the component.
    docs (Sequence[Doc]): documents processed by the components before it.
    RETURNS (FirstStage): counts over all documents.
    """
    codec = WatchedCodec(**asdict(pipe.codec))
    for first in range(0, len(docs), DOCS_AT_ONCE):
        batch = list(docs[first : first + DOCS_AT_ONCE])
        plan = plan_docs(batch, pipe.settings)
        work = HeadWork(codec, plan, pipe.settings.max_cells)
        pipe.model.predict((batch, work, pipe.thresholds.of_candidates))
    return FirstStage(
        n_seeds=sum(n_seeds for n_seeds, _ in codec.seen),
        n_kept=sum(len(located.kept.window) for _, located in codec.seen),
        n_proposals=sum(
            len(set(zip(*(column.tolist() for column in located.adjusted))))
            for _, located in codec.seen
        ),
        offsets={
            side: sum(
                (
                    count_moves(one.kept[column], one.adjusted[column])
                    for _, one in codec.seen
                ),
                Counter(),
            )
            for side, column in (("start", 1), ("end", 2))
        },
    )


def count_moves(before: Tensor, after: Tensor) -> Counter:
    """RETURNS (Counter): offsets in tokens; those larger than 5 are counted as 6."""
    moves = (after - before).cpu().numpy()
    limit = LARGEST_OFFSET + 1
    return Counter(np.clip(moves, -limit, limit).tolist())


def by_length(
    readings: Sequence[Reading], sizes: Sequence[int]
) -> List[Dict[str, Any]]:
    """Score entities by length and by groups of lengths.

    sizes (Sequence[int]): seed lengths in training; other lengths are marked with *.
    RETURNS (List[Dict[str, Any]]): a row for each length of a gold entity.
    """
    lengths = sorted({end - start for one in readings for start, end, _ in one.gold})
    ranges = {str(n) if n in sizes else f"{n}*": (n, n) for n in lengths}
    ranges.update(GROUPS)

    def group(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
        return {
            name: {span for span in spans if low <= span[1] - span[0] <= high}
            for name, (low, high) in ranges.items()
        }

    counts = count_groups(readings, group)
    return [{"length": name, **counts[name].as_dict()} for name in ranges]


def analyse(nlp: Language, data: Path, dataset: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): all tables for one corpus."""
    name = find_component(nlp)
    pipe: Any = nlp.get_pipe(name)
    key = pipe.settings.spans_key
    examples = read_test(data, dataset, nlp, key)
    seen = [example.predicted for example in prepare_examples(nlp, name, examples)]
    first = watch_first_stage(pipe, seen)
    readings = read_predictions(nlp, examples, key)
    n_gold = sum(len(reading.gold) for reading in readings)
    n_moves = max(first.n_kept, 1)
    return {
        "by_length": by_length(readings, pipe.codec.window_sizes),
        "offsets": {
            side: {str(move): n / n_moves for move, n in sorted(moves.items())}
            for side, moves in first.offsets.items()
        },
        "seeds": first.n_seeds,
        "kept": first.n_kept / max(first.n_seeds, 1),
        "proposals_per_entity": first.n_proposals / max(n_gold, 1),
    }


def print_tables(result: Dict[str, Any]) -> None:
    """Print scores by length, offsets, and the share of seeds that pass the filter."""
    rows = [
        (
            row["length"],
            str(row["gold"]),
            *(
                "-" if row[name] is None else f"{100 * row[name]:.1f}"
                for name in ("p", "r", "f")
            ),
        )
        for row in result["by_length"]
    ]
    header = ("length", "entities", "P", "R", "F1")
    print(table(rows, header=header, divider=True, aligns=("l", *"rrrr")))
    print("* not a seed length in training (window_sizes)\n")
    rows = [
        (
            name,
            *(
                f"{100 * result['offsets'][side].get(str(move), 0):.2f}"
                for side in ("start", "end")
            ),
        )
        for move, name in move_names().items()
    ]
    print(
        table(
            rows,
            header=("offset", "start, %", "end, %"),
            aligns=("l", "r", "r"),
            divider=True,
        )
    )
    print(f"seeds: {result['seeds']:,}, of which the filter keeps {result['kept']:.1%}")
    print(f"distinct proposals per entity: {result['proposals_per_entity']:.2f}")


def move_names() -> Dict[int, str]:
    """RETURNS (Dict[int, str]): the names of the counted offsets."""
    limit = LARGEST_OFFSET + 1
    return {
        move: f"{move:+d} and beyond" if abs(move) == limit else f"{move:+d}"
        for move in range(-limit, limit + 1)
    }


def plot(result: Dict[str, Any], path: Path) -> None:
    """Plot F1 by length, for lengths with and without training seeds, and the
    distribution of the offsets.
    """
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4))
    rows = [row for row in result["by_length"] if row["length"] not in GROUPS]
    for text, marked in (("seed length", False), ("no seed length", True)):
        chosen = [row for row in rows if row["length"].endswith("*") == marked]
        sizes = [int(row["length"].rstrip("*")) for row in chosen]
        axes[0].bar(sizes, [100 * (row["f"] or 0) for row in chosen], label=text)
    axes[0].set_xlabel("tokens of the entity")
    axes[0].set_ylabel("F1")
    axes[0].margins(y=0.2)  # room for the legend
    for place, (side, shares) in enumerate(result["offsets"].items()):
        places = [move + 0.4 * place - 0.2 for move in move_names()]
        heights = [100 * shares.get(str(move), 0) for move in move_names()]
        axes[1].bar(places, heights, width=0.4, label=side)
    axes[1].set_yscale("log")
    axes[1].set_xlabel("predicted offset in tokens (outermost bars: and larger)")
    axes[1].set_ylabel("% of the seeds that pass the filter")
    for axis in axes:
        axis.legend()
    figure.tight_layout()
    figure.savefig(path)


def main(
    data: Path = typer.Argument(
        ..., help="Folder with the datasets, or with --pipeline a .spacy file"
    ),
    dataset: str = DATASET,
    pipeline: Optional[Path] = typer.Option(
        None, help="Trained pipeline; trained here if not given"
    ),
    encoder: str = ENCODER,
    epochs: int = typer.Option(20),
    settings: List[str] = typer.Option(
        [], "--set", help="Setting of the component, for example use_filter=false"
    ),
    output: Optional[Path] = OUTPUT,
    plot_path: Optional[Path] = typer.Option(None, "--plot", help="PNG file to write"),
) -> None:
    """Analyse a pipeline, given or trained here, on the test split of a dataset."""
    if pipeline is not None:
        nlp = spacy.load(pipeline)
    elif data.is_dir():
        nlp = trained_pipeline(data, dataset, encoder, epochs, read_settings(settings))
    else:
        raise typer.BadParameter(f"{data} is not a folder: pass a trained --pipeline")
    result = analyse(nlp, data, dataset)
    print_tables(result)
    if output is not None:
        write_json(output, result)
    if plot_path is not None:
        plot(result, plot_path)


if __name__ == "__main__":
    typer.run(main)
