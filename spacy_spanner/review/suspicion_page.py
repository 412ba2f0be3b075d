"""The page with the most suspicious spans, in the style of the evaluation report."""

from collections import Counter
from typing import Any, Dict, List, Sequence

from jinja2 import Environment
from spacy.tokens import Doc
from spacy.training import Example

from .. import __version__
from ..evaluation.counts import SpanKey
from ..evaluation.error_analysis import describe_span, segments, sentence_bounds
from ..evaluation.report.displacy import label_colors, render_sentence
from ..evaluation.report.page import BETWEEN, WITHIN, read_asset
from .planting import INCONSISTENT, MISSING
from .reports import Reviewed, as_rows, explained
from .suspicions import KINDS, Suspicion

# The names of kinds in the evaluation report, where they differ.
SHOWN_AS = {MISSING: "missed", INCONSISTENT: "label"}


def render_page(found: Reviewed, data: str, *, limit: int) -> str:
    """RETURNS (str): the page as HTML, without references to other files.

    data (str): name of the data.
    limit (int): number of spans on the page.
    """
    chosen = found._replace(suspicions=found.suspicions[:limit])
    gold: Dict[int, List[SpanKey]] = {}
    expected = dict.fromkeys(KINDS, 0.0)
    for one in found.suspicions:
        expected[one.kind] += one.suspicion
        if one.gold is not None:
            gold.setdefault(one.doc, []).append(one.gold)
    n_gold = sum(map(len, gold.values()))
    labels = {one.span[2] for one in found.suspicions}
    labels.update(one.proposed[2] for one in chosen.suspicions if one.proposed)
    colors = label_colors(sorted(labels))
    environment = Environment(autoescape=True, trim_blocks=True)
    template = environment.from_string(read_asset("suspicions.html.jinja"))
    return template.render(
        data=data,
        n_docs=len(found.docs),
        n_gold=n_gold,
        n_all=len(found.suspicions),
        kinds=KINDS,
        expected=expected,
        shown=Counter(one.kind for one in chosen.suspicions),
        items=_items(chosen, gold, colors),
        colors=colors,
        version=__version__,
        css=read_asset("report.css"),
        js=read_asset("report.js"),
    )


def _items(
    found: Reviewed, gold: Dict[int, List[SpanKey]], colors: Dict[str, int]
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): sentences as HTML, and values to filter by."""
    items = []
    for one, row in zip(found.suspicions, as_rows(found)):
        labels = sorted({span[2] for span in (one.gold, one.proposed) if span})
        pairs = [WITHIN.join((one.kind, label)) for label in labels]
        sentence = _sentence(found.docs[one.doc], one, gold.get(one.doc, []))
        items.append(
            {
                "kind": one.kind,
                "labels": BETWEEN.join(labels),
                "pairs": BETWEEN.join(pairs),
                "suspicion": one.suspicion,
                "document": one.doc + 1,
                "markup": render_sentence(sentence, colors),
                "explanation": explained(row),
            }
        )
    return items


def _sentence(doc: Doc, one: Suspicion, gold: Sequence[SpanKey]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the sentence of a suspicion for `render_sentence`."""
    every = [*gold, *filter(None, [one.proposed])]
    pieces = segments(sentence_bounds(Example(doc, doc)), every)
    first, last = next(piece for piece in pieces if piece[0] <= one.span[0] < piece[1])
    kind = SHOWN_AS.get(one.kind, one.kind)
    spans = []
    for span in gold:
        if first <= span[0] < last:
            wrong = span == one.gold
            score = one.gold_score if wrong else None
            shown_as = kind if wrong else "correct"
            spans.append(describe_span(span, first, "gold", score, shown_as))
    if one.proposed is not None:
        score = one.proposed_score
        spans.append(describe_span(one.proposed, first, "predicted", score, kind))
    tokens = doc[first:last]
    return {
        "words": [token.text for token in tokens],
        "spaces": [bool(token.whitespace_) for token in tokens],
        "spans": spans,
    }
