"""The page of agreement: scores, and the disagreements of versions side by side."""

from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

from jinja2 import Environment
from spacy.tokens import Doc
from spacy.training import Example

from .. import __version__
from ..evaluation.counts import SpanKey
from ..evaluation.error_analysis import describe_span, segments, sentence_bounds
from ..evaluation.report.displacy import label_colors, render_sentence
from ..evaluation.report.page import BETWEEN, WITHIN, read_asset
from .agreement import ALL, ALPHA, NAMES, Agreement, Score
from .versions import CharSpan

# What versions disagree about, for the filter of the page.
KINDS = {
    "label": "same boundaries, different labels",
    "boundary": "same label, different boundaries",
    "other": "only in some versions",
}


class Passage(NamedTuple):
    """A part of a document in which versions disagree.

    doc (int): number of the document, from 0.
    first, last (int): its tokens; `last` is exclusive.
    spans (List[Set[SpanKey]]): spans of each version, on tokens of the document.
    """

    doc: int
    first: int
    last: int
    spans: List[Set[SpanKey]]

    @property
    def not_shared(self) -> Set[SpanKey]:
        """Spans that some version lacks."""
        every: Set[SpanKey] = set().union(*self.spans)
        return {span for span in every if any(span not in s for s in self.spans)}


def passages(found: Agreement) -> List[Passage]:
    """RETURNS (List[Passage]): sentences with disagreements, those with most of them
    first.
    """
    rows = []
    for number, doc in enumerate(found.versions[0].docs):
        spans = [on_tokens(doc, version.spans[number]) for version in found.versions]
        every: Set[SpanKey] = set().union(*spans)
        if all(side == every for side in spans):
            continue
        for first, last in segments(sentence_bounds(Example(doc, doc)), every):
            inside = [{s for s in side if first <= s[0] < last} for side in spans]
            passage = Passage(number, first, last, inside)
            if passage.not_shared:
                rows.append(passage)
    return sorted(rows, key=lambda row: (-len(row.not_shared), row.doc, row.first))


def on_tokens(doc: Doc, spans: Set[CharSpan]) -> Set[SpanKey]:
    """RETURNS (Set[SpanKey]): spans on the tokens that they share characters with."""
    found = set()
    for start, end, label in spans:
        tokens = doc.char_span(start, end, alignment_mode="expand")
        if tokens is not None:
            found.add((tokens.start, tokens.end, label))
    return found


def render_page(found: Agreement, *, limit: int) -> str:
    """RETURNS (str): the page as HTML, without references to other files.

    limit (int): number of sentences with disagreements.
    """
    rows = passages(found)
    colors = label_colors(found.labels)
    environment = Environment(autoescape=True, trim_blocks=True)
    environment.filters["score"] = _score
    template = environment.from_string(read_asset("agreement.html.jinja"))
    names = [version.name for version in found.versions]
    return template.render(
        names=names,
        n_docs=len(found.by_doc),
        n_tokens=found.n_tokens,
        n_spans=[sum(map(len, version.spans)) for version in found.versions],
        overlapping=found.overlapping,
        measures=NAMES,
        alpha=ALPHA,
        overall=found,
        pairs=_pairs(found.scores),
        labels=found.labels,
        all=ALL,
        kinds=KINDS,
        items=[_item(row, found, colors) for row in rows[:limit]],
        n_all=len(rows),
        colors=colors,
        version=__version__,
        css=read_asset("report.css"),
        js=read_asset("report.js"),
    )


def _pairs(scores: Sequence[Score]) -> List[Tuple[str, str]]:
    pairs = [(score.first, score.second) for score in scores if score.second]
    return list(dict.fromkeys(pairs))


def _score(score: Score) -> str:
    """RETURNS (str): a score with its interval."""
    if score.value is None:
        return "–"
    shown = f"{score.value:.3f}"
    if score.interval is None:
        return shown
    low, high = score.interval
    return f"{shown} ({low:.3f} to {high:.3f})"


def _item(row: Passage, found: Agreement, colors: Dict[str, int]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a sentence in all versions, and values to filter by."""
    wrong = row.not_shared
    kinds = {span: kind_of(span, row) for span in wrong}
    tokens = found.versions[0].docs[row.doc][row.first : row.last]
    sides = []
    for version, spans in zip(found.versions, row.spans):
        shown = []
        for span in sorted(spans):
            kind = "label" if span in wrong else "correct"
            one = describe_span(span, row.first, "predicted", None, kind)
            about = KINDS[kinds[span]] if span in wrong else "in all versions"
            shown.append({**one, "tip": f"{span[2]}: {about}"})
        sentence = {
            "words": [token.text for token in tokens],
            "spaces": [bool(token.whitespace_) for token in tokens],
            "spans": shown,
        }
        sides.append((version.name, render_sentence(sentence, colors)))
    pairs = {WITHIN.join((kind, span[2])) for span, kind in kinds.items()}
    return {
        "document": row.doc + 1,
        "sides": sides,
        "kinds": BETWEEN.join(sorted(set(kinds.values()))),
        "labels": BETWEEN.join(sorted({span[2] for span in wrong})),
        "pairs": BETWEEN.join(sorted(pairs)),
    }


def kind_of(span: SpanKey, row: Passage) -> str:
    """RETURNS (str): one of `KINDS`, by what versions that lack a span have instead."""
    lacking = [side for side in row.spans if span not in side]
    others: Set[SpanKey] = set().union(*lacking)
    if any(other[:2] == span[:2] for other in others):
        return "label"
    overlapping = [o for o in others if o[0] < span[1] and span[0] < o[1]]
    return "boundary" if any(o[2] == span[2] for o in overlapping) else "other"
