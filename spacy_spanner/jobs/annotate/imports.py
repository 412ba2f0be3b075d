"""Import what every worker needs, when this module is imported: see `pool`."""

from contextlib import suppress

# A package that cannot be imported is reported by the workers, if they need it.
with suppress(Exception):
    import spacy

    from ...pipeline import component  # noqa: F401
    from . import worker  # noqa: F401

    spacy.blank("xx")  # imports all packages that register components
