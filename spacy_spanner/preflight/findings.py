"""What checks of data report, and the checks of marks, leaks and duplicates."""

from typing import Iterator, NamedTuple

from ..evaluation.tables import amount
from ..settings import SpanSettings
from .data_survey import SplitSurvey, shared_texts

ERROR, WARNING, GOOD = "error", "warning", "good"

# Share of the documents and sentences of a part that may also occur in train.
MAX_SHARED = 0.01
N_SHOWN = 3


class Finding(NamedTuple):
    """One result of the checks.

    level (str): "error" if training fails or its scores are meaningless, "warning", or
        "good".
    text (str): what was found.
    advice (str): what to do about it; empty if there is nothing to do.
    """

    level: str
    text: str
    advice: str = ""


def check_marks(
    part: str, one: SplitSurvey, settings: SpanSettings
) -> Iterator[Finding]:
    """YIELDS (Finding): how much is marked as incomplete or as no entity, if anything,
    and what follows from it.
    """
    if not one.n_incomplete and not one.n_negative:
        return
    incomplete = amount(one.n_incomplete, "document")
    negative = amount(one.n_negative, "span")
    text = f"{part}: {incomplete} marked incomplete, {negative} known not to be "
    text += "entities"
    if part != "train" and one.n_incomplete:
        advice = (
            "Predicted spans that are not annotated there are not judged, so that "
            f"precision is too high. Annotate {part} completely."
        )
        yield Finding(WARNING, text, advice)
    elif one.n_incomplete == one.n_docs and settings.missing_rate == 1:
        advice = (
            "With missing_rate = 1, nothing says where no entity is, and the model "
            "predicts too many. Use a lower rate."
        )
        yield Finding(WARNING, text, advice)
    else:
        yield Finding(GOOD, text)


def check_leakage(
    train: SplitSurvey, other: SplitSurvey, part: str
) -> Iterator[Finding]:
    """YIELDS (Finding): whether documents or sentences of a part are in train.

    part (str): name of the part.
    """
    shared = shared_texts(train, other)
    if not shared:
        yield Finding(GOOD, f"No document or long sentence of {part} is in train")
        return
    share = len(shared) / len(other.texts)
    sample = ", ".join(repr(text[:60]) for text in shared[:N_SHOWN])
    found = amount(len(shared), "document or sentence", "documents or sentences")
    text = f"{found} of {part} ({share:.1%}) also in train"
    advice = "Remove them from train: scores on seen data are too high."
    level = ERROR if share > MAX_SHARED else WARNING
    yield Finding(level, f"{text}: {sample}", advice)


def check_duplicates(train: SplitSurvey) -> Iterator[Finding]:
    """YIELDS (Finding): documents that occur more than once."""
    n_twice = len(train.doc_texts) - len(set(train.doc_texts))
    if n_twice:
        repeat = ("training document repeats", "training documents repeat")
        text = f"{amount(n_twice, *repeat)} another"
        yield Finding(WARNING, text, "Remove duplicates that are not intended.")
