"""Train on your own data.

All steps of docs/guides/own_data.md. Run it in the root of the repository:

    python examples/own_data.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

import spacy
from steps import run, write

run("""
pip install -c constraints.txt ".[plots]"
python -m spacy project run corpus
mkdir -p training/own
""")

write(
    "training/own/notes.jsonl",
    """
{"text": "The mayor of Lyon met Ana Ruiz.", "spans": [{"start": 0, "end": 17, "label": "PER"}, {"start": 13, "end": 17, "label": "GPE"}, {"start": 22, "end": 30, "label": "PER"}]}
{"text": "Nobody from Oslo came.", "spans": [{"start": 12, "end": 16, "label": "GPE"}]}
""",
)

run("""
python -m spacy spanner convert corpus/demo/train.spacy training/own/train.jsonl
python -m spacy spanner convert corpus/demo/dev.spacy training/own/dev.jsonl
python -m spacy spanner convert corpus/demo/test.spacy training/own/test.jsonl
""")

run("""
python -m spacy spanner convert training/own/train.jsonl training/own/train.spacy
python -m spacy spanner convert training/own/dev.jsonl training/own/dev.spacy
python -m spacy spanner convert training/own/test.jsonl training/own/test.spacy
""")

run("""
python -m spacy spanner init-config training/own/config.cfg --lang en --steps 300
""")

run("""
python -m spacy spanner debug-data training/own/config.cfg --paths.train training/own/train.spacy --paths.dev training/own/dev.spacy --test training/own/test.spacy
""")

run("""
python -m spacy train training/own/config.cfg --output training/own --paths.train training/own/train.spacy --paths.dev training/own/dev.spacy
""")

run("""
python -m spacy spanner evaluate training/own/model-best training/own/test.spacy --output training/own/evaluation
""")


nlp = spacy.load("training/own/model-best")
doc = nlp("The Supreme Court of Norway heard the chief executive of Banco Norte.")
for span in doc.spans["ents"]:
    print(f"{span._.score:.2f} {span.label_} {span.text}")

run("""
python -m spacy spanner model-card training/own/model-best --name own
mkdir -p packages
python -m spacy package training/own/model-best packages --name own --version 1.0.0 --build wheel --force
pip install packages/en_own-1.0.0/dist/en_own-1.0.0-py3-none-any.whl
""")

nlp = spacy.load("en_own")
print(nlp.pipe_names, nlp.meta["version"])
