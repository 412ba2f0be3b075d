"""Speed and memory on a CPU.

All steps of docs/guides/speed_and_memory.md. Run it in the root of the repository:

    python examples/speed_and_memory.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import time

import spacy
import torch
from spacy.tokens import DocBin
from steps import run

run("""
python -m spacy project run corpus
python -m spacy spanner init-config training/first.cfg --steps 300 --force
python -m spacy train training/first.cfg --output training/first --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")

run("""
python -m spacy spanner analyze costs training/first/model-best --data corpus/demo/test.spacy
""")


nlp = spacy.load("training/first/model-best")
docs = DocBin().from_disk("corpus/demo/test.spacy").get_docs(nlp.vocab)
texts = [sentence.text for doc in docs for sentence in doc.sents]


def seconds(work):
    start = time.process_time()
    list(work())
    return time.process_time() - start


one_by_one = seconds(lambda: (nlp(text) for text in texts))
in_batches = seconds(lambda: nlp.pipe(texts, batch_size=128))
print(
    f"{len(texts)} sentences: {one_by_one:.1f} s one by one, {in_batches:.1f} s in batches"
)


torch.set_num_threads(1)

nlp = spacy.load("training/first/model-best", exclude=["tagger", "parser", "ner"])
print(nlp.pipe_names)

# Left out: needs a pipeline with a transformer.

found = []
with nlp.memory_zone():
    for doc in nlp.pipe(texts[:50]):
        found.append(
            [(span.text, span.label_, span._.score) for span in doc.spans["ents"]]
        )
print(len(found), "results")
