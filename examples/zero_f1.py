"""My F1 is 0.

All steps of docs/guides/zero_f1.md. Run it in the root of the repository:

    python examples/zero_f1.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
from spacy.tokens import DocBin, Span
from spacy.training import Example
from steps import merge, run

run("""
python -m spacy project run corpus
python -m spacy spanner init-config training/zero/config.cfg --model span_biaffine --steps 300
python -m spacy spanner debug-data training/zero/config.cfg --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")


nlp = spacy.blank("en")
component = nlp.add_pipe("span_biaffine")
gold = nlp.make_doc("The mayor of Lyon met Ana Ruiz.")
gold.spans["sc"] = [gold.char_span(13, 17, "GPE"), gold.char_span(22, 30, "PER")]
examples = [Example(nlp.make_doc(gold.text), gold)]
try:
    nlp.initialize(lambda: examples)
except ValueError as error:
    print(error)

run("""
python -m spacy spanner init-config training/zero/weights.cfg --model span_biaffine
""")

merge(
    "training/zero/weights.cfg",
    """
[training.score_weights]
spans_ents_f = 0.0
spans_people_f = 1.0
""",
)

run(
    """
python -m spacy train training/zero/weights.cfg --output training/zero --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""",
    fails=True,
)

run("""
python -m spacy train training/zero/config.cfg --output training/zero --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy --training.max_steps 120 --training.eval_frequency 20
""")

nlp = spacy.load("training/zero/model-best")
component = nlp.get_pipe("span_biaffine")
text = "The mayor of Lyon met Ana Ruiz in Oslo."
for threshold in (0.9, 0.3, 0.05):
    component.cfg["threshold"] = threshold
    print(threshold, len(nlp(text).spans["ents"]), "spans")


blank = spacy.blank("en")
docs = list(DocBin().from_disk("corpus/demo/dev.spacy").get_docs(blank.vocab))
for doc in docs:
    doc.spans["ents"] = [
        Span(doc, span.start, span.end, label=span.label_.lower())
        for span in doc.spans["ents"]
    ]
DocBin(docs=docs).to_disk("training/zero/dev.spacy")

run(
    """
python -m spacy spanner debug-data training/zero/config.cfg --paths.train corpus/demo/train.spacy --paths.dev training/zero/dev.spacy
""",
    fails=True,
)

doc = blank.make_doc("A fund of EUR5m")
print([token.text for token in doc], doc.char_span(10, 13, "CUR"))

run("""
python -m spacy spanner debug-data training/zero/config.cfg --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy --components.span_biaffine.max_width 1
""")

run("""
python -m spacy spanner evaluate training/zero/model-best corpus/demo/test.spacy
""")
