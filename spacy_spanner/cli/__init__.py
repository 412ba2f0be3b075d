"""The commands of `python -m spacy spanner`; importing this mounts them."""

from spacy.cli._util import app as spacy_app

from . import resume  # noqa: F401
from .app import app

spacy_app.add_typer(app)

__all__ = ["app"]
