"""Errors and warnings with codes: what is wrong, where, and what to do.

A message is a template: `Errors.SP002.format(...)`. Codes are never reused. Each file
has the messages of some rooms, in the order of their codes:

- `components`: components, settings, encoders and training
- `data`: corpora and evaluation
- `jobs`: checkpoints, annotation, parallel training and sweeps
- `review`: errors in annotation, and the choice of documents to annotate
- `speed`: the precision of prediction
- `serving`: the server
- `labels`: other labels for trained components, and rehearsal

`install` has the command that installs an extra, for messages about missing packages,
and `plain` makes texts of others safe for terminals.
"""

from typing import Any

from .components import ComponentErrors, ComponentWarnings
from .data import DataErrors, DataWarnings
from .jobs import JobErrors, JobWarnings
from .labels import LabelErrors, LabelWarnings
from .plain import plain
from .review import ReviewErrors, ReviewWarnings
from .serving import ServingErrors, ServingWarnings
from .speed import SpeedErrors, SpeedWarnings


class _Message(str):
    """A template whose values cannot command the terminal that shows it."""

    __slots__ = ()

    def format(self, *args: Any, **values: Any) -> str:
        """RETURNS (str): the message; see `plain`."""
        return plain(super().format(*args, **values))


class _CodedMessages(type):
    """Prefix each message with its code: `[SP002] ...`."""

    def __getattribute__(cls, name: str) -> str:
        message = super().__getattribute__(name)
        if name.startswith("_") or not isinstance(message, str):
            return message
        return _Message(f"[{name}] {message}")


class Errors(
    ComponentErrors,
    DataErrors,
    JobErrors,
    ReviewErrors,
    SpeedErrors,
    ServingErrors,
    LabelErrors,
    metaclass=_CodedMessages,
):
    """Messages of errors."""


class Warnings(
    ComponentWarnings,
    DataWarnings,
    JobWarnings,
    ReviewWarnings,
    SpeedWarnings,
    ServingWarnings,
    LabelWarnings,
    metaclass=_CodedMessages,
):
    """Messages of warnings."""
