"""Sentences with gold and predicted spans as HTML, in the style of displaCy's spans.

Spans are bars below the text: gold spans (outlined) on the upper lines, predicted spans
(filled) on the lower ones. Colours show labels, errors are marked, and the tooltip
of a bar shows the score.
"""

from html import escape
from typing import Any, Dict, List, Optional, Sequence, Tuple

N_COLORS = 12
KIND_NAMES = {
    "correct": "correct",
    "label": "wrong label",
    "boundary": "wrong boundaries",
    "both": "wrong boundaries and label",
    "missed": "missed",
    "spurious": "spurious",
}
SIDES = ("gold", "predicted")


def label_colors(labels: Sequence[str]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): colour number of each label."""
    return {label: place % N_COLORS for place, label in enumerate(sorted(labels))}


def assign_lines(spans: Sequence[Dict[str, Any]]) -> List[int]:
    """Assign each span the first line where it overlaps no other: gold spans first,
    predicted spans below all gold spans, longer spans above those inside them.

    spans (Sequence[Dict[str, Any]]): spans with `start`, `end`, `label` and `side`.
    RETURNS (List[int]): line of each span, from 0.
    """

    def order(place: int) -> Tuple[int, int, str]:
        span = spans[place]
        return span["start"], -span["end"], span["label"]

    lines = [0] * len(spans)
    first = 0
    for side in SIDES:
        mine = [place for place, span in enumerate(spans) if span["side"] == side]
        mine.sort(key=order)
        ends: List[int] = []
        for place in mine:
            start, end = spans[place]["start"], spans[place]["end"]
            free = (line for line, taken in enumerate(ends) if taken <= start)
            line = next(free, len(ends))
            ends[line : line + 1] = [end]
            lines[place] = first + line
        first += len(ends)
    return lines


def render_sentence(
    item: Dict[str, Any], colors: Dict[str, int], *, scores: bool = False
) -> str:
    """Render a sentence with its spans.

    item (Dict[str, Any]): see `error_analysis.find_errors`. Spans may have a `tip` to
        show instead of `tooltip`.
    colors (Dict[str, int]): colour of each label.
    scores (bool): whether scores stand beside the labels, and not in tooltips only.
    RETURNS (str): HTML without scripts.
    """
    placed = list(zip(item["spans"], assign_lines(item["spans"])))
    parts = []
    for place, (word, space) in enumerate(zip(item["words"], item["spaces"])):
        here = [
            (span, line)
            for span, line in placed
            if span["start"] <= place < span["end"]
        ]
        bars = "".join(_bar(span, line, place, colors, scores) for span, line in here)
        depth = max((line + 1 for _, line in here), default=0)
        text = escape(word) if word.strip() else "&#9251;"
        style = f' style="--depth:{depth}"' if depth else ""
        # Bars extend to the next word; lines may break after each word.
        gap = "&nbsp;" if space and bars else ""
        parts.append(f'<span class="token"{style}>{text}{gap}{bars}</span>')
        if space:
            parts.append("<wbr>" if gap else " ")
    return "".join(parts)


def _bar(
    span: Dict[str, Any], line: int, place: int, colors: Dict[str, int], scores: bool
) -> str:
    """RETURNS (str): the part of a bar below one token."""
    classes = ["bar", span["side"], f"c{colors[span['label']]}"]
    wrong = span["kind"] != "correct"
    chip = ""
    if wrong:
        classes.append("wrong")
    if place == span["start"]:
        classes.append("first")
        mark = "&#10007;&thinsp;" if wrong else ""
        score = f" {score_text(span['score'])}" if scores else ""
        chip = f"<b>{mark}{escape(span['label'])}{score}</b>"
    if place == span["end"] - 1:
        classes.append("last")
    tip = escape(span.get("tip") or tooltip(span), quote=True)
    names = " ".join(classes)
    return f'<i class="{names}" style="--line:{line}" title="{tip}">{chip}</i>'


def tooltip(span: Dict[str, Any]) -> str:
    """RETURNS (str): side, label, correctness and score of a span."""
    shown = f"{span['side']} {span['label']}: {KIND_NAMES[span['kind']]}"
    return f"{shown}, score {score_text(span['score'])}"


def score_text(score: Optional[float]) -> str:
    """RETURNS (str): the score, or "unknown"."""
    return "unknown" if score is None else f"{score:.2f}"


def explain(error: Dict[str, Any]) -> str:
    """Describe an error in words.

    error (Dict[str, Any]): one of the `errors` of `error_analysis.find_errors`.
    RETURNS (str): HTML.
    """
    gold, predicted = (_named(error[side]) for side in SIDES)
    if error["kind"] == "missed":
        return f"missed {gold}{_low_score(error['gold'])}"
    score = f", score {score_text(error['predicted']['score'])}"
    if error["kind"] == "spurious":
        return f"spurious {predicted}{score}"
    kind = f" ({error['boundary']})" if error["boundary"] else ""
    return f"{predicted} instead of {gold}{kind}{score}"


def _named(span: Optional[Dict[str, Any]]) -> str:
    if span is None:
        return ""
    return f"<b>{escape(span['label'])}</b> &ldquo;{escape(span['text'])}&rdquo;"


def _low_score(gold: Dict[str, Any]) -> str:
    if gold["score"] is None:
        return ""
    return f", although it scored {gold['score']:.3f}"
