"""Annotate in a loop.

All steps of docs/guides/annotation_loop.md. Run it in the root of the repository:

    python examples/annotation_loop.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
import srsly
from spacy.tokens import DocBin
from steps import run

run("""
python -m spacy project run corpus
mkdir -p training/loop/annotated
""")


nlp = spacy.blank("en")
docs = list(DocBin().from_disk("corpus/demo/train.spacy").get_docs(nlp.vocab))
DocBin(docs=docs[:30]).to_disk("training/loop/annotated/round0.spacy")
texts = [{"id": number, "text": doc.text} for number, doc in enumerate(docs[30:])]
srsly.write_jsonl("training/loop/texts.jsonl", texts)

run("""
python -m spacy spanner init-config training/loop/config.cfg --steps 300
""")

run("""
python -m spacy train training/loop/config.cfg --output training/loop --paths.train training/loop/annotated --paths.dev corpus/demo/dev.spacy
""")

run("""
python -m spacy spanner tune training/loop/model-best corpus/demo/dev.spacy --output training/loop/tuned
""")

run("""
python -m spacy spanner select training/loop/texts.jsonl --model training/loop/tuned --number 10 --id-field id --output training/loop/selected
""")

chosen = [
    row["id"] for row in srsly.read_jsonl("training/loop/selected/selection.jsonl")
]
corrected = []
for number in map(int, chosen):
    doc = docs[30 + number]
    spans = [
        {"start": span.start_char, "end": span.end_char, "label": span.label_}
        for span in doc.spans["ents"]
    ]
    corrected.append({"text": doc.text, "spans": spans})
srsly.write_jsonl("training/loop/export.jsonl", corrected)
print(len(corrected), "documents corrected")

run("""
python -m spacy spanner convert training/loop/export.jsonl training/loop/annotated/round1.spacy --sentences rules
""")

run("""
python -m spacy train training/loop/config.cfg --output training/loop --paths.train training/loop/annotated --paths.dev corpus/demo/dev.spacy
""")

run("""
python -m spacy spanner find-errors training/loop/annotated --config training/loop/config.cfg --output training/loop/errors --folds 2
""")

run("""
python -m spacy spanner find-errors training/loop/annotated --apply training/loop/errors/review/prodigy.jsonl --output training/loop/corrected.spacy
""")
