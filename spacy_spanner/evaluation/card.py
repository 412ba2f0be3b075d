"""Model cards in Markdown, generated from a trained pipeline.

Labels and settings come from the components, scores from `meta.json`.
"""

import json
from pathlib import PurePath
from typing import Any, Callable, Dict, List, Optional

from spacy.language import Language
from spacy.util import registry

from ..encoders.sources import Origin
from ..pipeline.precision import META_KEY
from ..pipeline.requirements import pretrained_encoders
from ..pipeline.state import NO_SETTINGS, TRAINED_ON
from .predicting import span_components
from .tables import amount, code, escaped, markdown_table, percent, readable

# Notes that begin with this line were generated, others were written by the user.
FIRST_LINE = "## Spans"
# What spaCy calls pipelines that nobody named.
UNNAMED = "pipeline"
OVERLAP_LIMITS = {
    "flat": "Spans do not overlap: of two overlapping spans, the one with the higher "
    "score is kept.",
    "nested": "Spans may be nested: of two crossing spans, the one with the higher "
    "score is kept.",
    "any": "Spans may overlap in any way.",
}


@registry.callbacks("spacy_spanner.model_card.v1")
def make_card_callback() -> Callable[[Language], Language]:
    """Create a callback for `[training] before_to_disk` that writes the card to the
    notes of `meta.json`, which `spacy package` copies into the README.

    RETURNS (Callable): the callback; it keeps notes that the user has written.
    """
    return write_card_to_notes


def write_card_to_notes(nlp: Language) -> Language:
    """RETURNS (Language): the pipeline, with the card in `nlp.meta["notes"]`."""
    notes = nlp.meta.get("notes") or ""
    if not notes or notes.startswith(FIRST_LINE):
        nlp.meta["notes"] = render_notes(nlp)
    return nlp


def render_card(nlp: Language, name: Optional[str] = None) -> str:
    """Render a README with title, description and model card.

    nlp (Language): the pipeline.
    name (Optional[str]): as for `spacy package --name`; None for that in its meta.
    RETURNS (str): Markdown.

    >>> print(render_card(spacy.load("model")).splitlines()[0])
    # en_pipeline
    """
    name = name or nlp.meta["name"]
    package = f"{nlp.lang}_{name}"
    description = nlp.meta.get("description") or ""
    facts = [
        ["name", code(package)],
        ["version", escaped(nlp.meta.get("version", ""))],
        ["spaCy", code(nlp.meta.get("spacy_version", ""))],
        ["pipeline", ", ".join(map(code, nlp.pipe_names))],
        ["licence", escaped(nlp.meta.get("license") or "not given")],
        ["author", escaped(nlp.meta.get("author") or "not given")],
    ]
    parts = [
        f"# {escaped(package)}",
        escaped(description),
        markdown_table(["", ""], facts, numbers=False),
        render_notes(nlp, None if name == UNNAMED else package),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_notes(nlp: Language, package: Optional[str] = None) -> str:
    """Describe the span components of a pipeline.

    nlp (Language): the pipeline.
    package (Optional[str]): name of its package. None if it is not known, as in notes,
        which are written before `spacy package --name` names the package.
    RETURNS (str): Markdown.
    """
    parts = [FIRST_LINE]
    for name, pipe in span_components(nlp).items():
        parts += _component_parts(nlp, name, pipe, package)
    return "\n\n".join(parts)


def _component_parts(
    nlp: Language, name: str, pipe: Any, package: Optional[str]
) -> List[str]:
    """RETURNS (List[str]): the sections on one component."""
    settings = pipe.settings
    factory = nlp.get_pipe_meta(name).factory
    scores = _scores_of(nlp, settings.spans_key)
    shown = {k: v for k, v in pipe.cfg.items() if k not in NO_SETTINGS}
    rows = [[code(key), code(repr(readable(value)))] for key, value in shown.items()]
    return [
        f"The component {code(name)} ({code(factory)}) writes entities, which may be "
        f"nested, to {code(f'doc.spans[{quoted(settings.spans_key)}]')}.",
        "### Use",
        _example(package, settings.spans_key),
        "### Labels",
        ", ".join(map(code, pipe.labels)) or "none yet",
        "### Data",
        _data(nlp, pipe),
        *_encoder_parts(nlp, pipe),
        *_precision_parts(nlp),
        *_score_parts(scores),
        "### Settings",
        markdown_table(["setting", "value"], rows, numbers=False),
        "### Limits",
        _limits(settings),
    ]


def _example(package: Optional[str], key: str) -> str:
    """RETURNS (str): code that runs with the package, or with a folder's path."""
    unknown = '"path/to/pipeline")  # or the name of its package'
    place = unknown if package is None else f"{quoted(package)})"
    return (
        "```python\n"
        "import spacy\n\n"
        f"nlp = spacy.load({place}\n"
        'doc = nlp("...")\n'
        f"for span in doc.spans[{quoted(key)}]:\n"
        "    print(span.text, span.label_, span._.score)\n"
        "```"
    )


def quoted(text: str) -> str:
    """RETURNS (str): a text as a string of Python."""
    return json.dumps(text, ensure_ascii=False)


def _data(nlp: Language, pipe: Any) -> str:
    """RETURNS (str): a description of the training data, if it was recorded."""
    seen = pipe.cfg.get(TRAINED_ON)
    paths = nlp.config.get("paths", {})
    named = [
        f"{part} data: {code(paths[part].replace(chr(92), '/').rsplit('/', 1)[-1])}"
        for part in ("train", "dev")
        if isinstance(paths.get(part), str)
    ]
    lines = [", ".join(named)] if named else []
    if seen:
        lines.append(
            f"{amount(seen['documents'], 'training document')}, {seen['annotated']:,} "
            f"of them annotated, with {amount(seen['spans'], 'span')}"
        )
    return ". ".join(lines) + "." if lines else "Not recorded."


def _encoder_parts(nlp: Language, pipe: Any) -> List[str]:
    """RETURNS (List[str]): the section on pretrained encoders, own or shared."""
    shared = [
        getattr(other, "model", None)
        for _, other in nlp.pipeline
        if pipe.name in getattr(other, "listening_components", [])
    ]
    lines = [
        f"The encoder was initialized with {_describe(shim.origin)}, and its weights "
        "are part of the pipeline."
        for model in (pipe.model, *shared)
        for shim in pretrained_encoders(model)
    ]
    return ["### Encoder", *lines] if lines else []


def _precision_parts(nlp: Language) -> List[str]:
    """RETURNS (List[str]): the section on what `spanner optimize` measured."""
    found = nlp.meta.get(META_KEY)
    if not found:
        return []
    rows = [
        [
            code(trial["precision"]),
            f"{trial['words_per_second']:,.0f}",
            percent(trial["f"]),
            percent(trial["ece"]),
        ]
        for trial in found["trials"]
    ]
    return [
        "### Precision",
        f"The encoder predicts in {code(found['chosen'])}, or in {code('float32')} on "
        f"machines that are not fast in it. Measured on "
        f"{amount(found['documents'], 'document')} with {found['words']:,} words, "
        f"{amount(found['threads'], 'thread')}, {escaped(found['processor'])}:",
        markdown_table(["precision", "words/s", "F1", "ECE"], rows),
    ]


def _describe(origin: Origin) -> str:
    """RETURNS (str): an encoder by name and revision; of folders, only the name."""
    if origin.revision is not None:
        return f"{code(origin.name)}, revision {code(origin.revision)}"
    path = PurePath(origin.name)
    # Names on the hub have at most two parts.
    return code(path.name if len(path.parts) > 2 else origin.name)


def _scores_of(nlp: Language, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores of a group in `meta.json`, by short name."""
    prefix = f"spans_{key}_"
    performance = nlp.meta.get("performance") or {}
    return {
        name[len(prefix) :]: value
        for name, value in performance.items()
        if name.startswith(prefix)
    }


def _score_parts(scores: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the sections on scores."""
    if not scores:
        return ["### Scores", "Not measured."]
    prefixes = ("all", ""), ("mean over types", "macro_"), ("flat", "flat_")
    rows = [
        [name, *(percent(scores.get(f"{prefix}{letter}")) for letter in "prf")]
        for name, prefix in (*prefixes, ("nested", "nested_"))
        if scores.get(f"{prefix}f") is not None
    ]
    parts = [
        "### Scores",
        "In percent, on the development data. Boundaries and label must be correct.",
        markdown_table(["spans", "P", "R", "F1"], rows),
    ]
    for title, key in (("type", "per_type"), ("tokens", "by_length")):
        by_name = scores.get(key) or {}
        rows = [
            [escaped(name), *(percent(row[letter]) for letter in "prf")]
            for name, row in by_name.items()
        ]
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
        f"Expected calibration error: {percent(scores['ece'])}. Share of correct spans "
        "by score:",
        markdown_table(["score", "spans", "mean score", "correct"], rows),
    ]


def _limits(settings: Any) -> str:
    unit = (
        "one sentence at a time, if the document has sentence boundaries"
        if settings.window == "sentence"
        else "the document without regard to sentences"
    )
    lines = [
        f"The component reads {unit}, at most {settings.max_window} tokens. Spans "
        "cannot cross these limits.",
        OVERLAP_LIMITS[settings.overlap],
        "Scores were measured on the data named above and may differ on other texts.",
    ]
    return "\n".join(f"- {line}" for line in lines)
