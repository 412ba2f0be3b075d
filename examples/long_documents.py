"""Long documents.

All steps of docs/guides/long_documents.md. Run it in the root of the repository:

    python examples/long_documents.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
from spacy.tokens import DocBin
from steps import merge, run

run("""
python -m spacy project run corpus
python -m spacy spanner stats corpus/demo/train.spacy --window sentence
python -m spacy spanner stats corpus/demo/train.spacy --window strided --max-window 64 --stride 16
""")

run("""
python -m spacy spanner init-config training/long/config.cfg --model span_biaffine --window strided --steps 300
""")

merge(
    "training/long/config.cfg",
    """
[components.span_biaffine]
max_window = 64
stride = 16
""",
)

run("""
python -m spacy train training/long/config.cfg --output training/long --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")


nlp = spacy.load("training/long/model-best")
docs = list(DocBin().from_disk("corpus/demo/test.spacy").get_docs(nlp.vocab))
text = "\n\n".join(doc.text for doc in docs)
doc = nlp(text)
print(len(doc), "tokens in one document")

nlp.max_length = 10_000_000

component = nlp.get_pipe("span_biaffine")
before = [(span.start, span.end, span.label_) for span in doc.spans["ents"]]
component.cfg["max_cells"] = 20_000
doc = nlp(text)
assert before == [(span.start, span.end, span.label_) for span in doc.spans["ents"]]
