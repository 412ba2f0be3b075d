"""The commands of `python -m spacy spanner`; importing this package registers them."""

from spacy.cli import app as spacy_app

from . import (  # noqa: F401 (each adds its commands)
    agreement,
    analyze,
    analyze_models,
    analyze_training,
    annotate,
    convert,
    distill,
    evaluate,
    find_errors,
    optimize,
    preflight,
    select,
    serve,
    sweep,
    train,
)
from .shell import app

spacy_app.add_typer(app)

__all__ = ["app"]
