"""The page of all results: JSON files to Markdown."""

import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

from targets import Rows, find_targets

from spacy_spanner.evaluation.tables import markdown_table

Parts = Dict[str, Dict[str, Any]]

INTRODUCTION = """\
# Results of the benchmarks

Written by `python benchmarks/run_all.py DATA`; [README.md](README.md) says what is
measured and how. "transformers" is a plain loop of torch and transformers, "encoder"
the bare `tok2vec` of the other pipelines, "spacy-transformers" the same encoder with a
listener. `spancat` scores spans of up to 12 tokens.
"""
QUICK = "\n**A smoke test on a few sentences: these numbers mean nothing.**\n"
SPEED = {
    "training": "{:,.0f}",
    "training_ratio": "{:.2f}",
    "training_to_encoder": "{:.2f}",
    "prediction": "{:,.0f}",
    "prediction_ratio": "{:.2f}",
    "prediction_to_encoder": "{:.2f}",
}
SPEED_HEADER = ["training, words/s", "of the first", "of the encoder"]
SPEED_HEADER += ["prediction, words/s", "of the first", "of the encoder"]
TEXTS = {
    "sentences": "sentences",
    "short": "sentences of up to 12 tokens",
    "documents": "documents of 1,000 tokens without sentence boundaries",
}


def read_parts(folder: Optional[Path]) -> Parts:
    """RETURNS (Parts): the content of the JSON files of a folder, by their names."""
    if folder is None:
        return {}
    return {
        path.stem: json.loads(path.read_text(encoding="utf8"))
        for path in sorted(folder.glob("*.json"))
    }


def make_page(parts: Parts, accuracy: Parts, *, quick: bool) -> str:
    """Render all that was measured.

    parts (Parts): what `run_all.py` has made.
    accuracy (Parts): more results of `accuracy.py`.
    quick (bool): whether it was a smoke test.
    RETURNS (str): Markdown.
    """
    accuracy = {
        **{name: part for name, part in parts.items() if name.startswith("accuracy")},
        **accuracy,
    }
    sections = [
        INTRODUCTION + (QUICK if quick else ""),
        *machine(parts),
        *targets(parts, accuracy),
        *speeds(parts),
        *latencies(parts),
        *startup(parts),
        *memories(parts),
        *growth(parts),
        *accuracies(accuracy),
    ]
    return "\n".join(sections)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """RETURNS (str): a table of Markdown, numbers to the right."""
    return markdown_table(header, rows) + "\n"


def cell(form: str, value: Optional[float]) -> str:
    """RETURNS (str): the number, or a dash where there is none."""
    return "-" if value is None else form.format(value)


def machine(parts: Parts) -> Iterator[str]:
    """YIELDS (str): on what, when and with what all was measured."""
    seen = [part["machine"] for part in parts.values()]
    if not seen:
        return
    rows = []
    for key in seen[0]:
        values = sorted({str(one[key]) for one in seen})
        if key == "load":  # of other programs too, before the end of each part
            values = [f"{min(map(float, values))} to {max(map(float, values))}"]
        rows.append([key.replace("_", " "), ", ".join(values)])
    yield "## Machine\n"
    yield table(["", ""], rows)


def targets(parts: Parts, accuracy: Parts) -> Iterator[str]:
    """YIELDS (str): what was wanted, and what came out."""
    rows = {name: part["results"] for name, part in parts.items()}
    trained = [
        row
        for part in accuracy.values()
        if part.get("setup", {}).get("encoder") == "minilm"
        for row in part["results"]
    ]
    found = list(find_targets(rows, trained))
    if not found:
        return
    yield "## Targets\n"
    header = ["", "component", "measured", "wanted", "met"]
    yield table(
        header,
        [
            [
                one.name,
                f"`{one.system}`",
                f"{one.value:,.2f}",
                f"{'≥' if one.at_least else '≤'} {one.limit:,g}",
                "yes" if one.met else "**no**",
            ]
            for one in found
        ],
    )


def speeds(parts: Parts) -> Iterator[str]:
    """YIELDS (str): a table for each encoder, kind of text and batch size."""
    chosen = [part for name, part in parts.items() if name.startswith("speed")]
    if chosen:
        yield "## Speed\n"
    for part in chosen:
        setup = part["setup"]
        yield (
            f"### {setup['encoder']}: {TEXTS[setup['texts']]}, {setup['batch_size']} "
            f"in a training step, {setup['pipe_batch_size']} in a prediction batch\n"
        )
        rows = part["results"]
        yield table(
            ["system", *SPEED_HEADER],
            [
                [row["system"], *(cell(form, row[key]) for key, form in SPEED.items())]
                for row in rows
            ],
        )


def latencies(parts: Parts) -> Iterator[str]:
    """YIELDS (str): the time for one sentence."""
    for name, part in parts.items():
        if not name.startswith("latency"):
            continue
        setup = part["setup"]
        yield f"## One sentence of {setup['tokens']} tokens, {setup['encoder']}\n"
        yield table(
            ["system", "ms", "of the encoder"],
            [
                [row["system"], f"{row['ms']:.1f}", f"{row['to_encoder']:.2f}"]
                for row in part["results"]
            ],
        )


def startup(parts: Parts) -> Iterator[str]:
    """YIELDS (str): seconds of a new interpreter."""
    if "startup" not in parts:
        return
    yield "## Start of an interpreter, seconds\n"
    steps = ("spacy", "package", "blank", "add_pipe")
    header = ["system", "import spacy", "and this package", "spacy.blank", "add_pipe"]
    yield table(
        header,
        [
            [row["system"], *(f"{row[step]:.3f}" for step in steps)]
            for row in parts["startup"]["results"]
        ],
    )


def memories(parts: Parts) -> Iterator[str]:
    """YIELDS (str): peak memory by length and by labels."""
    for name, part in parts.items():
        if name.startswith("memory"):
            yield f"## Memory, {part['setup']['encoder']}, MB\n"
            yield memory_table(part["results"])


def memory_table(rows: Rows) -> str:
    """RETURNS (str): a line for each system and number of labels."""
    lengths = sorted({row["tokens"] for row in rows})
    grid: Dict[tuple, Dict[int, Dict[str, Any]]] = {}
    for row in rows:
        grid.setdefault((row["system"], row["labels"]), {})[row["tokens"]] = row
    lines: List[List[str]] = []
    for (system, labels), by_length in grid.items():
        one = next(iter(by_length.values()))
        cells = [str(labels), f"{one['training_mb']:,.0f}", f"{one['loaded_mb']:,.0f}"]
        cells += [
            f"{by_length[length]['memory_mb']:,.0f}" if length in by_length else "-"
            for length in lengths
        ]
        lines.append([system, *cells])
    header = ["system", "labels", "peak in training", "loaded pipeline"]
    header += [f"+ {length:,} tokens" for length in lengths]
    return table(header, lines)


def growth(parts: Parts) -> Iterator[str]:
    """YIELDS (str): memory while many documents are evaluated."""
    if "growth" not in parts:
        return
    yield "## Memory while documents are evaluated, MB\n"
    yield table(
        ["system", "documents", "after a tenth", "at the end"],
        [
            [
                row["system"],
                f"{row['documents']:,}",
                f"{row['early_mb']:,.0f}",
                f"{row['last_mb']:,.0f}",
            ]
            for row in parts["growth"]["results"]
        ],
    )


def accuracies(parts: Parts) -> Iterator[str]:
    """YIELDS (str): precision, recall, F1 and calibration."""
    rows = []
    for name, part in parts.items():
        setup = part.get("setup", {})
        about = [setup.get("encoder", name), str(setup.get("epochs", "-"))]
        about += [" ".join(part.get("settings", [])) or "-"]
        for row in part["results"]:
            scores = [100 * (row[key] or 0) for key in ("p", "r", "f", "nested_f")]
            numbers = [f"{score:.1f}" for score in scores]
            error = cell("{:.1f}", None if row["ece"] is None else 100 * row["ece"])
            cost = [f"{row['seconds']:,.0f}", f"{row['memory_mb']:,.0f}"]
            seed = str(row["seed"])
            rows.append([row["model"], *about, seed, *numbers, error, *cost])
    if not rows:
        return
    yield "## Accuracy at an equal budget\n"
    header = ["model", "encoder", "epochs", "settings", "seed", "P", "R", "F1"]
    header += ["F1 nested", "ECE", "training, s", "peak MB"]
    yield table(header, rows)
