"""The commands of `python -m spacy spanner`; importing this package registers them."""

from spacy.cli._util import app as spacy_app

from . import (
    analyze,
    analyze_training,
    annotate,
    convert,
    debug_data,
    evaluate,
    init_config,
    model_card,
    resume,
    stats,
    sweep,
    train_parallel,
    tune,
)
from .app import app

spacy_app.add_typer(app)

__all__ = [
    "analyze",
    "analyze_training",
    "annotate",
    "app",
    "convert",
    "debug_data",
    "evaluate",
    "init_config",
    "model_card",
    "resume",
    "stats",
    "sweep",
    "train_parallel",
    "tune",
]
