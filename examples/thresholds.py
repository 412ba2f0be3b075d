"""Thresholds, calibration and what a score means.

All steps of docs/guides/thresholds.md. Run it in the root of the repository:

    python examples/thresholds.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
from spacy.training import Corpus
from steps import run

from spacy_spanner import scores_of

run("""
python -m spacy project run corpus
python -m spacy spanner init-config training/first.cfg --steps 300 --force
python -m spacy train training/first.cfg --output training/first --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")


nlp = spacy.load("training/first/model-best")
doc = nlp("The mayor of Lyon met Ana Ruiz of the Supreme Court in Oslo.")
for span, score in zip(doc.spans["ents"], scores_of(doc, "ents")):
    print(f"{score:.2f} {span.label_} {span.text}")

component = nlp.get_pipe("span_locate_label")
component.cfg["threshold"] = 0.6
component.cfg["label_thresholds"] = {"PER": 0.4}
sure = nlp(doc.text)
print(len(sure.spans["ents"]) <= len(doc.spans["ents"]))

run("""
python -m spacy spanner tune training/first/model-best corpus/demo/dev.spacy --test corpus/demo/test.spacy --output training/tuned --force
""")


for path in ("training/first/model-best", "training/tuned"):
    nlp = spacy.load(path)
    scores = nlp.evaluate(list(Corpus("corpus/demo/test.spacy")(nlp)))
    print(
        f"{path}: F1 {scores['spans_ents_f']:.2f}, ECE {scores['spans_ents_ece']:.2f}"
    )
