"""Reproduce a paper.

All steps of docs/guides/reproduce_a_paper.md. Run it in the root of the repository:

    python examples/reproduce_a_paper.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

from pathlib import Path

import spacy
from steps import run

from spacy_spanner import recipe

# Left out: downloads a corpus.

run("""
python -m spacy spanner init-config training/paper/genia.cfg --model span_offset --recipe paper --dataset genia
""")


config = Path("training/paper/genia.cfg").read_text(encoding="utf8")
print(config.split("[paths]")[0])


nlp = spacy.blank("en")
defaults = nlp.get_factory_meta("span_offset").default_config
for name, value in recipe("span_offset", "paper", "genia").items():
    if name != "model" and value != defaults[name]:
        print(name, "=", value)

# Left out: needs the corpus, the encoder of the paper and a GPU.

# Left out: trains many pipelines, which takes hours.
