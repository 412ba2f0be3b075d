"""Span-based named entity recognition for spaCy.

Installing the package registers the factories; `nlp.add_pipe("span_biaffine")` needs no
import.
"""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("spacy-spanner")
except PackageNotFoundError:  # run from a folder that was never installed
    __version__ = "0.0.0"
