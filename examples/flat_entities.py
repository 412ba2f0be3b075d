"""Flat entities: replace `ner`.

All steps of docs/guides/flat_entities.md. Run it in the root of the repository:

    python examples/flat_entities.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.util import filter_spans
from steps import merge, run

run("""
python -m spacy project run corpus
mkdir -p training/flat
""")


nlp = spacy.blank("en")
for split in ("train", "dev"):
    docs = list(DocBin().from_disk(f"corpus/demo/{split}.spacy").get_docs(nlp.vocab))
    for doc in docs:
        doc.ents = filter_spans(doc.spans["ents"])  # the longest, without overlaps
        doc.spans.clear()
    DocBin(docs=docs).to_disk(f"training/flat/{split}.spacy")
    print(split, sum(len(doc.ents) for doc in docs), "entities")

run("""
python -m spacy spanner init-config training/flat/config.cfg --steps 300
""")

merge(
    "training/flat/config.cfg",
    """
[components.span_locate_label]
overlap = "flat"
set_ents = "score"
""",
)

run("""
python -m spacy train training/flat/config.cfg --output training/flat --paths.train training/flat/train.spacy --paths.dev training/flat/dev.spacy
""")

nlp = spacy.load("training/flat/model-best")
doc = nlp("Ana Ruiz, the mayor of Lyon, met the Supreme Court of Norway on Monday.")
assert list(doc.ents) == list(doc.spans["ents"])
for entity in doc.ents:
    print(f"{entity._.score:.2f} {entity.label_} {entity.text}")

run("""
python -m spacy init config training/flat/ner.cfg --pipeline ner --force
""")

merge(
    "training/flat/ner.cfg",
    """
[training]
max_steps = 300
eval_frequency = 100

[training.batcher]
size = 400
""",
)

run("""
python -m spacy train training/flat/ner.cfg --output training/flat/ner --paths.train training/flat/train.spacy --paths.dev training/flat/dev.spacy
""")


for path in ("training/flat/model-best", "training/flat/ner/model-best"):
    nlp = spacy.load(path)
    scores = nlp.evaluate(list(Corpus("training/flat/dev.spacy")(nlp)))
    key = "spans_ents_f" if "spans_ents_f" in scores else "ents_f"
    print(f"{nlp.pipe_names[-1]}: F1 {scores[key]:.2f}")
