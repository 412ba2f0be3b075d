"""GPU and mixed precision.

All steps of docs/guides/gpu.md. Run it in the root of the repository:

    python examples/gpu.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

from pathlib import Path

import spacy
import torch
from steps import run

print("torch:", torch.cuda.is_available(), "spaCy:", spacy.prefer_gpu())

run("""
python -m spacy spanner init-config training/gpu/config.cfg --model span_biaffine --encoder minilm --gpu
python -m spacy spanner init-config training/gpu/cpu.cfg --model span_biaffine --encoder minilm
""")


cpu, gpu = (
    Path(f"training/gpu/{name}.cfg").read_text(encoding="utf8").splitlines()
    for name in ("cpu", "config")
)
for line in gpu:
    if line not in cpu and not line.startswith("#"):
        print(line)

# Left out: needs a GPU.

spacy.prefer_gpu()  # before loading

# Left out: needs the pipeline that was trained on a GPU.
