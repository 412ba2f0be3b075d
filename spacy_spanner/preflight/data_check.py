"""Find problems in training data and say how to solve them."""

from itertools import chain
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.util import load_config, load_model_from_config, registry, resolve_dot_names

from ..errors import Errors
from ..evaluation.predicting import read_corpus, span_components
from ..evaluation.tables import amount
from ..pipeline.survey import lost_spans, survey
from ..settings import SpanSettings
from .data_survey import SplitSurvey, cut_sentences, survey_split
from .findings import (
    ERROR,
    GOOD,
    N_SHOWN,
    WARNING,
    Finding,
    check_duplicates,
    check_leakage,
    check_marks,
)

# spaCy's `debug data` warns below the same number of examples of a label.
MIN_PER_LABEL = 50
MIN_SPANS = 100
# Share of the spans of a part that may have labels that are not in train.
MAX_UNKNOWN = 0.1


class DataCheck(NamedTuple):
    """The results for one component, with counts by part of the data."""

    component: str
    splits: Dict[str, Dict[str, Any]]
    findings: List[Finding]


def debug_data(
    path: Path, overrides: Dict[str, Any], *, test: Optional[Path] = None
) -> List[DataCheck]:
    """Check the data of all span components of a config.

    path (Path): the config.
    overrides (Dict[str, Any]): settings to override, by dotted name.
    test (Optional[Path]): the annotated documents of the test part.
    RETURNS (List[DataCheck]): one per component.
    RAISES (ValueError): SP077 if the config has no span component, SP078 if data cannot
        be read.
    """
    config = load_config(path, overrides=overrides, interpolate=False)
    nlp = load_model_from_config(config, auto_fill=True)
    components = span_components(nlp)
    if not components:
        pipeline = ", ".join(nlp.pipe_names) or "no component"
        raise ValueError(Errors.SP077.format(path=path, pipeline=pipeline))
    splits = read_splits(nlp, path)
    checks = []
    for name, pipe in components.items():
        parts = dict(splits)
        if test is not None:
            parts["test"] = read_corpus(test, nlp, pipe.settings.spans_key)
        annotate(nlp, parts)
        checks.append(check_data(nlp, name, parts))
    return checks


def read_splits(nlp: Language, path: Path) -> Dict[str, List[Example]]:
    """RETURNS (Dict[str, List[Example]]): the "train" and "dev" data of a config.

    RAISES (ValueError): SP078 if one of them cannot be read.
    """
    config = nlp.config.interpolate()
    training = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    splits: Dict[str, List[Example]] = {}
    for part, name in zip(("train", "dev"), names):
        try:
            (corpus,) = resolve_dot_names(config, [name])
            splits[part] = list(corpus(nlp))
        except Exception as error:
            # Unset paths and broken files raise errors of many types.
            message = Errors.SP078.format(part=part, path=path, error=error)
            raise ValueError(message) from error
    return splits


def annotate(nlp: Language, splits: Dict[str, List[Example]]) -> None:
    """Run the untrained annotating components of the config, such as a sentencizer, on
    the predicted documents.
    """
    for name in nlp.config["training"].get("annotating_components") or []:
        pipe: Any = nlp.get_pipe(name)
        if not getattr(pipe, "is_trainable", False):
            for example in chain.from_iterable(splits.values()):
                pipe(example.predicted)


def check_data(
    nlp: Language, name: str, splits: Mapping[str, Sequence[Example]]
) -> DataCheck:
    """Check the data of a span component.

    name (str): its name.
    splits (Mapping[str, Sequence[Example]]): "train" and any other parts; the predicted
        documents have the sentence boundaries that training will use.
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
        *_check_sentences(splits, settings),
        *_check_lost(pipe, splits, settings),
        *_check_edges(counted),
    ]
    for part, other in counted.items():
        findings += check_marks(part, other, settings)
        if part != "train":
            findings += check_leakage(train, other, part)
    findings += check_duplicates(train)
    parts = {part: one.as_dict() for part, one in counted.items()}
    return DataCheck(name, parts, findings)


def _check_sizes(
    counted: Dict[str, SplitSurvey], settings: SpanSettings
) -> Iterator[Finding]:
    key = settings.spans_key
    for part, one in counted.items():
        size = f"{part}: {amount(one.n_docs, 'document')}, "
        size += amount(one.n_spans, "span")
        if not one.n_annotated:
            advice = f"Put spans into doc.spans[{key!r}], or set another spans_key."
            yield Finding(ERROR, f"{size}; no document is annotated", advice)
        elif not one.n_spans:
            advice = "Annotate some spans to train and evaluate a model."
            yield Finding(ERROR, f"{size}; all span groups are empty", advice)
        elif one.n_annotated < one.n_docs:
            missing = f"{one.n_docs - one.n_annotated:,} without annotation"
            advice = (
                "They are not used for training. Use an empty span group for documents "
                "without spans."
            )
            yield Finding(WARNING, f"{size}; {missing}", advice)
        else:
            yield Finding(GOOD, size)
    if 0 < counted["train"].n_spans < MIN_SPANS:
        text = (
            f"There is little to learn from: {amount(counted['train'].n_spans, 'span')}"
        )
        yield Finding(WARNING, text, "Annotate more; scores will vary a lot.")


def _check_labels(counted: Dict[str, SplitSurvey]) -> Iterator[Finding]:
    train = counted["train"].labels
    shown = ", ".join(f"{label} {count:,}" for label, count in train.items())
    if shown:
        yield Finding(GOOD, f"{amount(len(train), 'label')}: {shown}")
    rare = {label: n for label, n in train.items() if n < MIN_PER_LABEL}
    if rare:
        listed = ", ".join(f"{label} ({n})" for label, n in rare.items())
        advice = f"Annotate at least {MIN_PER_LABEL} of each label, or merge labels."
        yield Finding(WARNING, f"Labels with few training spans: {listed}", advice)
    if "" in train:
        advice = "Give every span a label, or remove it."
        text = amount(train[""], "span has no label", "spans have no label")
        yield Finding(ERROR, text, advice)
    for part, one in counted.items():
        unknown = {label: n for label, n in one.labels.items() if label not in train}
        if unknown and train:
            listed = ", ".join(f"{label} ({n})" for label, n in unknown.items())
            share = sum(unknown.values()) / one.n_spans
            text = f"Labels in {part} that are not in train: {listed}"
            advice = (
                f"These spans ({share:.1%}) count as errors in evaluation. Split the "
                "data again, or correct the spelling."
            )
            yield Finding(ERROR if share > MAX_UNKNOWN else WARNING, text, advice)
        absent = sorted(set(train) - set(one.labels))
        if absent and one.n_spans:
            text = f"Labels in train that are not in {part}: {', '.join(absent)}"
            yield Finding(WARNING, text, f"They cannot be evaluated on {part}.")


def _check_lengths(counted: Dict[str, SplitSurvey]) -> Iterator[Finding]:
    lengths = sorted(width for one in counted.values() for width in one.lengths)
    if lengths:
        usual = lengths[(99 * (len(lengths) - 1)) // 100]
        shown = f"{lengths[0]} to {lengths[-1]} tokens; 99% have {usual} or less"
        yield Finding(GOOD, f"Spans have {shown}")


def _check_overlaps(
    counted: Dict[str, SplitSurvey], settings: SpanSettings
) -> Iterator[Finding]:
    totals = {
        kind: sum(one.overlaps[kind] for one in counted.values())
        for kind in ("flat", "nested", "crossing", "same")
    }
    setting = f'overlap = "{settings.overlap}"'
    nested = ("span shares tokens", "spans share tokens")
    shown = f"{amount(totals['nested'], *nested)} with another span"
    if settings.overlap == "flat" and totals["nested"]:
        advice = 'To predict all of them, set overlap = "nested" or "any".'
        yield Finding(WARNING, f"{shown}, but {setting}", advice)
    elif settings.overlap == "nested" and totals["crossing"]:
        crossing = amount(totals["crossing"], "span crosses", "spans cross")
        text = f"{crossing} another span, but {setting}"
        yield Finding(WARNING, text, 'To predict both of a pair, set overlap = "any".')
    elif settings.overlap != "flat" and totals["flat"] and not totals["nested"]:
        advice = (
            'With overlap = "flat", only the better of two overlapping spans is kept.'
        )
        yield Finding(GOOD, f"No spans overlap, and {setting}", advice)
    else:
        yield Finding(GOOD, f"{shown}, which {setting} allows")


def _check_sentences(
    splits: Mapping[str, Sequence[Example]], settings: SpanSettings
) -> Iterator[Finding]:
    for part, examples in splits.items():
        cut = cut_sentences(examples) if settings.window == "sentence" else []
        if cut:
            sample = ", ".join(repr(text) for text in cut[:N_SHOWN])
            text = f"{part}: the pipeline cuts {len(cut):,} documents of one sentence"
            advice = (
                "To keep each document whole, train without the component that sets "
                "sentence boundaries (see docs/data.md), as init-config --window doc "
                "does."
            )
            yield Finding(WARNING, f"{text}, before {sample}", advice)


def _check_lost(
    pipe: Any, splits: Mapping[str, Sequence[Example]], settings: SpanSettings
) -> Iterator[Finding]:
    """YIELDS (Finding): gold that the model cannot predict, by part and reason."""
    n_lost = 0
    for part, examples in splits.items():
        found = survey(examples, settings.spans_key)
        for reason, texts in lost_spans(found, settings, pipe.codec).items():
            if texts:
                n_lost += len(texts)
                share = len(texts) / max(found.n_spans, 1)
                sample = ", ".join(repr(text[:60]) for text in texts[:N_SHOWN])
                n_texts = amount(len(texts), "span")
                text = f"{part}: {n_texts} ({share:.1%}) {reason}: {sample}"
                advice = "They cannot be predicted and count as errors in evaluation."
                yield Finding(WARNING, text, advice)
    if not n_lost:
        yield Finding(GOOD, "The model can predict all spans within its windows")


def _check_edges(counted: Dict[str, SplitSurvey]) -> Iterator[Finding]:
    edges = sum(one.edges for one in counted.values())
    if edges:
        found = amount(edges, "span begins or ends", "spans begin or end")
        text = f"{found} with punctuation"
        yield Finding(WARNING, text, "Check whether this is intended.")
