"""Draw a sentence with its entities and their scores as SVG."""

import re
from importlib.resources import files
from typing import Any, Dict

from spacy_spanner.evaluation.report.displacy import label_colors, render_sentence

EXAMPLE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" role="img">
<title>Nested entities with their scores</title>
<style>
div {{ --ink: #1b2530; --chip-ink: #10202b; --card: #ffffff; color: var(--ink); \
font: 19px/1.7 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }}
{css}
</style>
<rect x=".5" y=".5" width="{inner_width}" height="{inner_height}" rx="10" \
fill="#ffffff" stroke="#dfe5ea"/>
<foreignObject x="18" y="10" width="{text_width}" height="{inner_height}">
<div xmlns="http://www.w3.org/1999/xhtml" class="sentence">{html}</div>
</foreignObject>
</svg>
"""
EXAMPLE_WIDTH, EXAMPLE_HEIGHT = 560, 154
# The rules of the reports' style sheet that the sentences need.
NEEDED = re.compile(r"^\.(token|bar|c\d+ ).*$", re.MULTILINE)
# The reports' chips are small, because a report has many of them.
LARGER = """\
.token { padding-bottom: calc(var(--depth, 0) * 21px); }
.bar { top: calc(1.62em + var(--line) * 21px); height: 6px; }
.bar b { font-size: 12px; line-height: 16px; top: -5px; }"""


def example_svg(item: Dict[str, Any]) -> str:
    """Draw a sentence with what a pipeline found, as in the reports.

    item (Dict[str, Any]): tokens and spans, as in the data of a report.
    RETURNS (str): the picture.
    """
    found = {"side": "predicted", "kind": "correct"}
    spans = [{**span, **found} for span in item["spans"]]
    colors = label_colors(sorted({span["label"] for span in spans}))
    html = render_sentence({**item, "spans": spans}, colors, scores=True)
    sheet = files("spacy_spanner.evaluation.report.assets") / "report.css"
    css = "\n".join(found[0] for found in NEEDED.finditer(sheet.read_text("utf8")))
    return EXAMPLE.format(
        width=EXAMPLE_WIDTH,
        height=EXAMPLE_HEIGHT,
        inner_width=EXAMPLE_WIDTH - 1,
        inner_height=EXAMPLE_HEIGHT - 1,
        text_width=EXAMPLE_WIDTH - 36,
        css=f"{css}\n{LARGER}",
        # Browsers read SVG as XML.
        html=html.replace("&nbsp;", "&#160;").replace("<wbr>", "<wbr/>"),
    )
