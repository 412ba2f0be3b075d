"""The command `spanner agreement`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Optional

import typer

from ..evaluation.tables import amount
from .convert import FORMAT, LANG, SPANS_KEY
from .shell import app, distinct_names, msg, plain_errors

if TYPE_CHECKING:
    from ..review.agreement import Agreement, Score

VERSIONS = typer.Argument(
    ..., help="Files or folders with the same texts, annotated by different people"
)
OUTPUT = typer.Option(None, "--output", "-o", help="Folder; default: print only")
COMMON = typer.Option(False, "--common", help="Leave out texts that some version lacks")
LIMIT = typer.Option(100, min=0, help="Sentences with disagreements on the page")
SAMPLES = typer.Option(1000, min=1, help="Samples for confidence intervals")
SEED = typer.Option(0, min=0, help="Random seed of the samples")


@app.command("agreement")
def agreement_cli(
    versions: List[Path] = VERSIONS,
    output: Optional[Path] = OUTPUT,
    format: str = FORMAT,
    lang: str = LANG,
    spans_key: str = SPANS_KEY,
    common: bool = COMMON,
    limit: int = LIMIT,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> None:
    """Measure how far annotated versions of the same texts agree.

    Reads all formats of spanner convert, with overlapping spans. Prints F1, Cohen's
    kappa, Krippendorff's alpha and an aligned measure, and writes them by pair, label
    and document, with a page of disagreements, to OUTPUT.
    """
    from ..output_checks import require_writable

    with plain_errors():
        if output is not None:
            require_writable(output, folder=True)
        from ..corpus.bare_language import BareLanguage
        from ..review.agreement import measure_agreement
        from ..review.agreement_files import write_agreement
        from ..review.versions import align, read_version

        nlp = BareLanguage(lang)
        options: Any = {"format": format or None, "key": spans_key, "note": msg.info}
        found = [
            read_version(path, nlp, name, **options)
            for path, name in zip(versions, version_names(versions))
        ]
        aligned = align(found, common=common)
        measured = measure_agreement(aligned, seed=seed, n_samples=samples)
        if output is not None:
            write_agreement(measured, output, limit=limit)
    show(measured)
    if output is not None:
        msg.good(f"Wrote {output / 'agreement.html'}, .csv and .json")


def version_names(paths: List[Path]) -> List[str]:
    """RETURNS (List[str]): a name for each version, also if a path is given twice."""
    names = distinct_names([str(path) for path in paths])
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def show(found: "Agreement") -> None:
    """Print the scores of all versions together."""
    from ..review.agreement import NAMES

    n_spans = ", ".join(
        f"{version.name} {sum(map(len, version.spans)):,}" for version in found.versions
    )
    msg.text(f"{amount(len(found.by_doc), 'document')}. Spans: {n_spans}")
    rows = [
        (name, meaning, _number(found.score(name)), _interval(found.score(name)))
        for name, meaning in NAMES.items()
    ]
    header = ("measure", "meaning", "value", "95 % interval")
    msg.table(rows, header=header, aligns=["l", "l", "r", "r"], divider=True)
    if found.overlapping:
        msg.info("Spans overlap: kappa and alpha are only given by label")


def _number(score: "Score") -> str:
    return "-" if score.value is None else f"{score.value:.3f}"


def _interval(score: "Score") -> str:
    if score.interval is None:
        return ""
    low, high = score.interval
    return f"{low:.3f} to {high:.3f}"
