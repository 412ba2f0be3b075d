"""Choose a model and an encoder.

All steps of docs/guides/choosing.md. Run it in the root of the repository:

    python examples/choosing.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

from steps import run

run("""
python -m spacy project run corpus
python -m spacy spanner init-config training/choose/biaffine.cfg --model span_biaffine --steps 300
python -m spacy spanner init-config training/choose/offset.cfg --model span_offset --steps 300
python -m spacy train training/choose/biaffine.cfg --output training/choose/biaffine --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
python -m spacy train training/choose/offset.cfg --output training/choose/offset --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
""")

run("""
python -m spacy spanner analyze costs training/choose/biaffine/model-best training/choose/offset/model-best --data corpus/demo/dev.spacy
""")

run("""
python -m spacy spanner evaluate training/choose/biaffine/model-best corpus/demo/dev.spacy --compare training/choose/offset/model-best
""")

run("""
python -m spacy spanner analyze cases training/choose/biaffine/model-best training/choose/offset/model-best --data corpus/demo/dev.spacy --limit 1
""")
