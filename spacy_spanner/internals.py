"""Read what other libraries do not document, with an error if they lack it."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from .errors import Errors

OWN = __name__.split(".")[0]


def internal(thing: Any, name: str) -> Any:
    """Get a name that a library does not document, and may change in any version.

    thing (Any): an object of the library, or the name of a module.
    name (str): the attribute.
    RETURNS (Any): its value.
    RAISES (ImportError): SP064 if the installed version of the library lacks it.
    """
    try:
        return getattr(import_module(thing) if isinstance(thing, str) else thing, name)
    except (AttributeError, ImportError) as error:
        place = thing if isinstance(thing, str) else _foreign_class(type(thing))
        library = place.split(".")[0]
        raise ImportError(
            Errors.SP064.format(
                library=library,
                version=version(library),
                missing=f"{place}.{name}",
                problem=error,
            )
        ) from error


def _foreign_class(kind: type) -> str:
    """RETURNS (str): the first class of another package that a class inherits from."""
    kinds = (one for one in kind.__mro__ if one.__module__.split(".")[0] != OWN)
    found = next(kinds)
    return f"{found.__module__}.{found.__qualname__}"
