"""Nested and overlapping entities.

All steps of docs/guides/nested_entities.md. Run it in the root of the repository:

    python examples/nested_entities.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

from pathlib import Path

import spacy
from spacy import displacy
from spacy.training import Corpus, Example
from steps import run

run("""
python -m spacy project run corpus
python -m spacy spanner stats corpus/demo/train.spacy
""")

run("""
python -m spacy spanner init-config training/first.cfg --steps 300 --force
""")

run("""
python -m spacy spanner debug-data training/first.cfg --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")

run("""
python -m spacy train training/first.cfg --output training/first --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")


def contains(span, other):
    return span != other and span.start <= other.start and other.end <= span.end


nlp = spacy.load("training/first/model-best")
text = (
    "The chief executive of Banco Norte met the mayor of Lyon at the port of Hamburg."
)
doc = nlp(text)
for span in doc.spans["ents"]:
    parts = [other.text for other in doc.spans["ents"] if contains(span, other)]
    print(span.label_, span.text, parts)


html = displacy.render(doc, style="span", page=True, options={"spans_key": "ents"})
Path("training/first/spans.html").write_text(html, encoding="utf8")


scores = nlp.evaluate(list(Corpus("corpus/demo/dev.spacy")(nlp)))
for part in ("", "flat_", "nested_"):
    print(part or "all", f"F1 {scores[f'spans_ents_{part}f']:.2f}")

component = nlp.get_pipe("span_locate_label")
component.cfg["overlap"] = "any"
doc = nlp("The Duke of York Street market opened.")


nlp = spacy.blank("en")
nlp.add_pipe("span_offset")
gold = nlp.make_doc("Georgia beat Spain in Turin.")
gold.spans["ents"] = [
    gold.char_span(0, 7, "GPE"),
    gold.char_span(0, 7, "TEAM"),
    gold.char_span(13, 18, "GPE"),
    gold.char_span(13, 18, "TEAM"),
    gold.char_span(22, 27, "GPE"),
]
examples = [Example(nlp.make_doc(gold.text), gold)]
nlp.initialize(lambda: examples)
for _ in range(100):
    nlp.update(examples)
doc = nlp(gold.text)
print([(span.text, span.label_) for span in doc.spans["ents"]])
