"""What is wrong with the data of a training, and what to do about it."""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence

from spacy.language import Language
from spacy.training import Example

from ..pipeline.component import SpanRecognizer
from ..pipeline.survey import lost_spans, survey
from ..settings import SpanSettings
from .data_survey import SplitSurvey, shared_texts, survey_split

ERROR, WARNING, GOOD = "error", "warning", "good"

# spaCy's `debug data` warns below the same number of examples of a label.
MIN_PER_LABEL = 50
MIN_SPANS = 100
# Share of documents and sentences of a part that may stand in the training data too.
MAX_SHARED = 0.01
N_SHOWN = 3


class Finding(NamedTuple):
    """Something to know about the data.

    level (str): "error" (training fails or its scores mean nothing), "warning", "good".
    text (str): what was seen.
    advice (str): what to do; empty where nothing is to be done.
    """

    level: str
    text: str
    advice: str = ""


class DataCheck(NamedTuple):
    """All that is known about the data of one component."""

    component: str
    splits: Dict[str, Dict[str, Any]]
    findings: List[Finding]


def check_data(
    nlp: Language, name: str, splits: Mapping[str, Sequence[Example]]
) -> DataCheck:
    """Look at the data of a span component.

    nlp (Language): the pipeline, not initialized.
    name (str): the component.
    splits (Mapping[str, Sequence[Example]]): "train" and any other parts;
        their predicted documents have the boundaries that training will see.
    RETURNS (DataCheck): counts and findings.
    """
    pipe: Any = nlp.get_pipe(name)
    settings = pipe.settings
    counted = {
        part: survey_split(egs, settings.spans_key) for part, egs in splits.items()
    }
    train = counted["train"]
    findings = [
        *_check_sizes(counted, settings),
        *_check_labels(counted),
        *_check_lengths(counted),
        *_check_overlaps(counted, settings),
        *_check_lost(pipe, splits, settings),
        *_check_edges(counted),
    ]
    for part, other in counted.items():
        if part != "train":
            findings += _check_leakage(train, other, part)
    findings += _check_duplicates(train)
    parts = {part: one.as_dict() for part, one in counted.items()}
    return DataCheck(name, parts, findings)


def span_components(nlp: Language) -> List[str]:
    """RETURNS (List[str]): names of this package's components."""
    return [name for name, pipe in nlp.pipeline if isinstance(pipe, SpanRecognizer)]


def _check_sizes(
    counted: Dict[str, SplitSurvey], settings: SpanSettings
) -> Iterator[Finding]:
    key = settings.spans_key
    for part, one in counted.items():
        size = f"{part}: {one.n_docs:,} documents, {one.n_spans:,} spans"
        if not one.n_annotated:
            advice = f"Put spans into doc.spans[{key!r}], or set another spans_key."
            yield Finding(ERROR, f"{size}; none is annotated", advice)
        elif not one.n_spans:
            advice = "Without any span there is nothing to learn or to score."
            yield Finding(ERROR, f"{size}; all are empty", advice)
        elif one.n_annotated < one.n_docs:
            missing = f"{one.n_docs - one.n_annotated:,} without annotation"
            advice = "They teach nothing; an empty group says that there is no span."
            yield Finding(WARNING, f"{size}; {missing}", advice)
        else:
            yield Finding(GOOD, size)
    if 0 < counted["train"].n_spans < MIN_SPANS:
        text = f"There are only {counted['train'].n_spans} spans to learn from"
        yield Finding(WARNING, text, "Annotate more, or expect scores that vary a lot.")


def _check_labels(counted: Dict[str, SplitSurvey]) -> Iterator[Finding]:
    train = counted["train"].labels
    shown = ", ".join(f"{label} {count:,}" for label, count in train.items())
    if shown:
        yield Finding(GOOD, f"{len(train)} labels: {shown}")
    rare = {label: n for label, n in train.items() if n < MIN_PER_LABEL}
    if rare:
        listed = ", ".join(f"{label} ({n})" for label, n in rare.items())
        advice = f"{MIN_PER_LABEL} are a beginning; annotate more, or merge labels."
        yield Finding(WARNING, f"Labels with few training spans: {listed}", advice)
    if "" in train:
        advice = "Give every span a label, or remove it."
        yield Finding(ERROR, f"{train['']:,} spans have no label", advice)
    for part, one in counted.items():
        unknown = sorted(set(one.labels) - set(train))
        if unknown and train:
            text = f"Labels in {part} that are not in train: {', '.join(unknown)}"
            yield Finding(ERROR, text, "Split anew, or correct the spelling.")
        absent = sorted(set(train) - set(one.labels))
        if absent and one.n_spans:
            text = f"Labels in train that are not in {part}: {', '.join(absent)}"
            yield Finding(WARNING, text, f"Nothing in {part} can tell how they do.")


def _check_lengths(counted: Dict[str, SplitSurvey]) -> Iterator[Finding]:
    lengths = sorted(width for one in counted.values() for width in one.lengths)
    if lengths:
        usual = lengths[(99 * (len(lengths) - 1)) // 100]
        text = (
            f"Spans have {lengths[0]} to {lengths[-1]} tokens; 99% have {usual} or less"
        )
        yield Finding(GOOD, text)


def _check_overlaps(
    counted: Dict[str, SplitSurvey], settings: SpanSettings
) -> Iterator[Finding]:
    totals = {
        kind: sum(one.overlaps[kind] for one in counted.values())
        for kind in ("flat", "nested", "crossing", "same")
    }
    setting = f'overlap = "{settings.overlap}"'
    shown = f"{totals['nested']:,} spans share tokens with another"
    if settings.overlap == "flat" and totals["nested"]:
        advice = 'Some of them can never be found: set overlap = "nested" or "any".'
        yield Finding(WARNING, f"{shown}, but {setting}", advice)
    elif settings.overlap == "nested" and totals["crossing"]:
        text = f"{totals['crossing']:,} spans cross another, but {setting}"
        yield Finding(WARNING, text, 'To find both of a pair, set overlap = "any".')
    elif settings.overlap != "flat" and totals["flat"] and not totals["nested"]:
        advice = 'With overlap = "flat", of two that overlap only the better will stay.'
        yield Finding(GOOD, f"No spans overlap, and {setting}", advice)
    else:
        yield Finding(GOOD, f"{shown}, which {setting} allows")


def _check_lost(
    pipe: Any, splits: Mapping[str, Sequence[Example]], settings: SpanSettings
) -> Iterator[Finding]:
    """YIELDS (Finding): gold that the model cannot express, by part and reason."""
    n_lost = 0
    for part, examples in splits.items():
        found = survey(examples, settings.spans_key)
        for reason, texts in lost_spans(found, settings, pipe.codec).items():
            if texts:
                n_lost += len(texts)
                share = len(texts) / max(found.n_spans, 1)
                sample = ", ".join(repr(text[:60]) for text in texts[:N_SHOWN])
                text = f"{part}: {len(texts):,} spans ({share:.1%}) {reason}: {sample}"
                advice = "They cannot be learned, and count as errors in evaluation."
                yield Finding(WARNING, text, advice)
    if not n_lost:
        yield Finding(GOOD, "All spans can be expressed by the model and its windows")


def _check_edges(counted: Dict[str, SplitSurvey]) -> Iterator[Finding]:
    edges = sum(one.edges for one in counted.values())
    if edges:
        text = f"{edges:,} spans begin or end with punctuation"
        yield Finding(WARNING, text, "Look whether that is meant.")


def _check_leakage(
    train: SplitSurvey, other: SplitSurvey, part: str
) -> Iterator[Finding]:
    shared = shared_texts(train, other)
    if not shared:
        yield Finding(GOOD, f"No document or longer sentence of {part} is in train")
        return
    share = len(shared) / len(other.texts)
    sample = ", ".join(repr(text[:60]) for text in shared[:N_SHOWN])
    text = (
        f"{len(shared):,} documents or sentences of {part} ({share:.1%}) are in train"
    )
    advice = "Remove them from train: what was learned by heart is no measure."
    level = ERROR if share > MAX_SHARED else WARNING
    yield Finding(level, f"{text}: {sample}", advice)


def _check_duplicates(train: SplitSurvey) -> Iterator[Finding]:
    n_twice = len(train.doc_texts) - len(set(train.doc_texts))
    if n_twice:
        text = f"{n_twice:,} training documents repeat another"
        yield Finding(WARNING, text, "They only count more; remove what is not meant.")
