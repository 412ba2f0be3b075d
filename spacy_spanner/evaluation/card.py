"""What a trained pipeline tells about itself, as Markdown.

Everything comes from the pipeline: labels and settings from its components, scores from
`meta.json`, where training and `spanner evaluate` results are kept.
"""

from typing import Any, Callable, Dict, Iterable, List, Optional

from spacy.language import Language
from spacy.util import registry

from ..pipeline.component import SpanRecognizer
from ..pipeline.state import NO_SETTINGS
from .tables import markdown_table, percent

# The first line tells notes of ours from those of a user.
FIRST_LINE = "## Spans"
OVERLAP_LIMITS = {
    "flat": "Spans do not overlap: where two would, the one with the higher score "
    "stays.",
    "nested": "A span may stand inside another; of two that cross, the one with the "
    "higher score stays.",
    "any": "Spans may overlap in any way.",
}


@registry.callbacks("spacy_spanner.model_card.v1")
def make_card_callback() -> Callable[[Language], Language]:
    """Make a callback for `[training] before_to_disk`: `spacy package` puts the notes
    of `meta.json` into the README.

    RETURNS (Callable): writes the card into the notes, unless a user has written there.
    """
    return write_card_to_notes


def write_card_to_notes(nlp: Language) -> Language:
    """RETURNS (Language): the pipeline, with the card in `nlp.meta["notes"]`."""
    notes = nlp.meta.get("notes") or ""
    if not notes or notes.startswith(FIRST_LINE):
        nlp.meta["notes"] = render_notes(nlp)
    return nlp


def render_card(nlp: Language) -> str:
    """RETURNS (str): a README of a pipeline, with a title and its description."""
    name = f"{nlp.lang}_{nlp.meta['name']}"
    description = nlp.meta.get("description") or ""
    facts = [
        ["name", f"`{name}`"],
        ["version", nlp.meta.get("version", "")],
        ["spaCy", f"`{nlp.meta.get('spacy_version', '')}`"],
        ["pipeline", ", ".join(f"`{pipe}`" for pipe in nlp.pipe_names)],
        ["licence", nlp.meta.get("license") or "not given"],
        ["author", nlp.meta.get("author") or "not given"],
    ]
    parts = [
        f"# {name}",
        description,
        markdown_table(["", ""], facts, numbers=False),
        render_notes(nlp),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_notes(nlp: Language) -> str:
    """RETURNS (str): all that is to say about the span components of a pipeline."""
    parts = [FIRST_LINE]
    for name, pipe in span_components(nlp).items():
        parts += _component_parts(nlp, name, pipe)
    return "\n\n".join(parts)


def span_components(nlp: Language) -> Dict[str, Any]:
    """RETURNS (Dict[str, SpanRecognizer]): components of this package by name."""
    return {
        name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, SpanRecognizer)
    }


def _component_parts(nlp: Language, name: str, pipe: Any) -> List[str]:
    """RETURNS (List[str]): the sections about one component."""
    settings = pipe.settings
    factory = nlp.get_pipe_meta(name).factory
    scores = _scores_of(nlp, settings.spans_key)
    shown = {k: v for k, v in pipe.cfg.items() if k not in NO_SETTINGS}
    rows = [[f"`{key}`", f"`{value!r}`"] for key, value in shown.items()]
    return [
        f"The component `{name}` (`{factory}`) writes entities, which may be nested, "
        f'to `doc.spans["{settings.spans_key}"]`.',
        "### Use",
        _example(nlp, settings.spans_key),
        "### Labels",
        ", ".join(f"`{label}`" for label in pipe.labels) or "none yet",
        "### Data",
        _data(nlp, pipe),
        *_score_parts(scores),
        "### Settings",
        markdown_table(["setting", "value"], rows, numbers=False),
        "### Limits",
        _limits(settings),
    ]


def _example(nlp: Language, key: str) -> str:
    name = f"{nlp.lang}_{nlp.meta['name']}"
    return (
        "```python\n"
        "import spacy\n\n"
        f'nlp = spacy.load("{name}")\n'
        'doc = nlp("...")\n'
        f'group = doc.spans["{key}"]\n'
        'for span, score in zip(group, group.attrs["scores"]):\n'
        "    print(span.text, span.label_, round(float(score), 3))\n"
        "```"
    )


def _data(nlp: Language, pipe: Any) -> str:
    """RETURNS (str): what the component was trained on, as far as it knows."""
    seen = pipe.cfg.get("trained_on")
    paths = nlp.config.get("paths", {})
    named = [
        f"{part} data: `{str(paths[part]).replace(chr(92), '/').rsplit('/', 1)[-1]}`"
        for part in ("train", "dev")
        if isinstance(paths.get(part), str)
    ]
    lines = [", ".join(named)] if named else []
    if seen:
        lines.append(
            f"{seen['documents']:,} training documents, {seen['annotated']:,} of them "
            f"annotated, with {seen['spans']:,} spans"
        )
    return ". ".join(lines) + "." if lines else "Not recorded."


def _scores_of(nlp: Language, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores of a group in `meta.json`, without prefix."""
    prefix = f"spans_{key}_"
    performance = nlp.meta.get("performance") or {}
    return {
        name[len(prefix) :]: value
        for name, value in performance.items()
        if name.startswith(prefix)
    }


def _score_parts(scores: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): sections with the scores that there are."""
    if not scores:
        return ["### Scores", "Not measured."]
    overall = {
        "all": "",
        "mean over types": "macro_",
        "flat": "flat_",
        "nested": "nested_",
    }
    rows = [
        [name, *(percent(scores.get(f"{prefix}{letter}")) for letter in "prf")]
        for name, prefix in overall.items()
        if scores.get(f"{prefix}f") is not None
    ]
    parts = [
        "### Scores",
        "In percent, on the development data. Boundaries and label must be right.",
        markdown_table(["spans", "P", "R", "F1"], rows),
    ]
    for title, key in (("type", "per_type"), ("tokens", "by_length")):
        by_name = scores.get(key) or {}
        rows = [[name, *map(percent, _prf(row))] for name, row in by_name.items()]
        if rows:
            parts.append(markdown_table([title, "P", "R", "F1"], rows))
    return [*parts, *_calibration_parts(scores)]


def _calibration_parts(scores: Dict[str, Any]) -> List[str]:
    bins = [row for row in scores.get("reliability") or [] if row["n_spans"]]
    if not bins:
        return []
    rows = [
        [
            f"{100 * row['low']:.0f}-{100 * row['high']:.0f}",
            f"{row['n_spans']:,}",
            percent(row["confidence"]),
            percent(row["accuracy"]),
        ]
        for row in bins
    ]
    return [
        "### Calibration",
        f"Expected calibration error: {percent(scores['ece'])}. How often spans of a "
        "score are right:",
        markdown_table(["score", "spans", "mean score", "right"], rows),
    ]


def _limits(settings: Any) -> str:
    seen = (
        "one sentence at a time, where the document has sentence boundaries"
        if settings.window == "sentence"
        else "the document without regard to sentences"
    )
    lines = [
        f"It sees {seen}, and never more than {settings.max_window} tokens: a span "
        "does not reach beyond.",
        OVERLAP_LIMITS[settings.overlap],
        "Scores were measured on the data named above; on other texts they differ.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _prf(row: Dict[str, Any]) -> Iterable[Optional[float]]:
    return (row[letter] for letter in "prf")
