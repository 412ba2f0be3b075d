"""Corpora too large for one machine.

All steps of docs/guides/large_corpora.md. Run it in the root of the repository:

    python examples/large_corpora.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

from pathlib import Path

import srsly
from steps import merge, run

from spacy_spanner import SpanAnnotator

run("""
python -m spacy project run corpus
python -m spacy spanner init-config training/first.cfg --steps 300 --force
python -m spacy train training/first.cfg --output training/first --paths.train corpus/demo/train.spacy --paths.dev corpus/demo/dev.spacy
python -m spacy spanner convert corpus/demo/test.spacy training/large/texts.jsonl
""")

run("""
python -m spacy spanner annotate training/first/model-best training/large/texts.jsonl --output training/large/annotated
""")


paths = sorted(Path("training/large/annotated").glob("part-*.jsonl"))
rows = [row for path in paths for row in srsly.read_jsonl(path)]
print(len(rows), "documents", sorted(rows[0]))

run("""
python -m spacy spanner annotate training/first/model-best training/large/texts.jsonl --output training/large/parallel --n-process 2
""")

# Left out: starts a cluster.


annotator = SpanAnnotator("training/first/model-best", threads=1)
batch = annotator({"text": ["Ana Ruiz is in Boston.", "It rained."]})
print(list(batch), batch["error"])

run("""
python -m spacy spanner convert corpus/demo/train.spacy training/large/shards --shard-tokens 5000
python -m spacy spanner init-config training/large/config.cfg --model span_biaffine --labels PER,ORG,GPE,LOC,FAC --steps 300
""")

merge(
    "training/large/config.cfg",
    """
[training]
max_epochs = -1
""",
)

run("""
python -m spacy train training/large/config.cfg --output training/large --paths.train training/large/shards --paths.dev corpus/demo/dev.spacy
""")

# Left out: starts processes that train, which other tests do.
