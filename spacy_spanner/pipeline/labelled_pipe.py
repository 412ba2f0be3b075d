"""A trainable pipe whose settings and labels live in `cfg`: what a component does that
is not about spans.
"""

from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors
from ..models.codec import SpanCodec
from ..settings import SpanSettings
from ..spans.table import Floats
from .stored_pipe import StoredPipe
from .temperature import temper

# What stands in `cfg` besides settings: the labels, and the size of the training data.
NO_SETTINGS = ("labels", "trained_on")


class LabelledPipe(StoredPipe):
    """Keeps settings, labels and weights together, also when they are stored.

    `cfg` is the only place where settings stand: it is saved, spaCy's commands write to
    it, and what is changed there holds from the next call on.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        codec_type: Type[Any],
        settings: Dict[str, Any],
    ) -> None:
        """Take the settings over, and check them.

        codec_type (Type[SpanCodec]): the codec's class; its fields are settings.
        settings (Dict[str, Any]): see `SpanSettings` and the codec.
        RAISES (ValueError): SP002 for a setting out of its limits.
        """
        self.vocab = vocab
        self.model = model
        self.name = name
        self._codec_type = codec_type
        self._made: Dict[Type[Any], Tuple[str, Any]] = {}
        self.cfg: Dict[str, Any] = {"labels": [], **settings}
        model.get_ref("output_layer").name = name  # for messages
        _ = self.settings, self.codec  # check themselves

    @property
    def settings(self) -> SpanSettings:
        """The settings that all span components share, as they stand in `cfg`."""
        made: SpanSettings = self._from_cfg(SpanSettings)
        return made

    @property
    def codec(self) -> SpanCodec:
        """The model's mathematics with the settings that stand in `cfg`."""
        made: SpanCodec = self._from_cfg(self._codec_type)
        return made

    def _from_cfg(self, settings_type: Type[Any]) -> Any:
        """Make settings, which check themselves, again only when `cfg` has changed."""
        names = [field.name for field in fields(settings_type)]
        values = {name: self.cfg[name] for name in names if name in self.cfg}
        written = repr(values)  # sees changes inside of lists, and of types
        last, made = self._made.get(settings_type, ("", None))
        if written != last:
            made = settings_type(**values)
            self._made[settings_type] = written, made
        return made

    @property
    def labels(self) -> Tuple[str, ...]:
        """The labels that the component can predict; a label's id is its place."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> List[str]:
        """What `initialize(labels=...)` needs to make the same labels again."""
        return list(self.labels)

    @property
    def label_ids(self) -> Dict[str, int]:
        """The id of each label."""
        return {label: index for index, label in enumerate(self.labels)}

    def add_label(self, label: str) -> int:
        """Add a label before initialization.

        label (str): the label.
        RETURNS (int): 0 if it is there already, otherwise 1.
        RAISES (ValueError): SP008 after initialization.
        """
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        if label in self.labels:
            return 0
        self._set_labels(sorted([*self.labels, label]))
        self.vocab.strings.add(label)
        return 1

    def _set_labels(self, labels: Sequence[str]) -> None:
        head = self.model.get_ref("output_layer")
        if head.has_dim("nO") and head.get_dim("nO") != len(labels):
            raise ValueError(
                Errors.SP008.format(
                    component=self.name,
                    saved=head.get_dim("nO"),
                    present=len(labels),
                    labels=", ".join(labels),
                )
            )
        self.cfg["labels"] = list(labels)
        for label in labels:
            self.vocab.strings.add(label)

    def thresholds(self) -> Floats:
        """RETURNS (Floats): the lowest score of each label that the head may report,
        which is the threshold without the temperature. Shape: (label,)
        """
        return temper(self.lowest_scores(), 1 / self.settings.temperature)

    def lowest_scores(self) -> Floats:
        """RETURNS (Floats): the lowest score of each label to write. Shape: (label,)
        RAISES (ValueError): SP006 for thresholds of labels that do not exist.
        """
        settings = self.settings
        special = settings.label_thresholds
        unknown = sorted(set(special) - set(self.labels))
        if unknown:
            raise ValueError(
                Errors.SP006.format(
                    component=self.name,
                    unknown=", ".join(unknown),
                    labels=", ".join(self.labels),
                )
            )
        numbers = [special.get(label, settings.threshold) for label in self.labels]
        return np.asarray(numbers, dtype=np.float32)

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = tuple()
    ) -> "LabelledPipe":
        """Load settings, labels and weights.

        RAISES (ValueError): SP007 when weights and labels do not belong together, SP002
            for settings out of their limits; and see `StoredPipe`.
        """
        with self._label_check():
            super().from_bytes(bytes_data, exclude=exclude)
        return self

    def from_disk(
        self, path: Any, *, exclude: Iterable[str] = tuple()
    ) -> "LabelledPipe":
        """Load settings, labels and weights.

        RAISES (ValueError): SP007 when weights and labels do not belong together, SP002
            for settings out of their limits; and see `StoredPipe`.
        """
        with self._label_check():
            super().from_disk(path, exclude=exclude)
        return self

    @contextmanager
    def _label_check(self) -> Iterator[None]:
        head = self.model.get_ref("output_layer")
        before = head.maybe_get_dim("nO")
        cause: Optional[ValueError] = None
        try:
            yield
        except ValueError as error:
            # Thinc refuses to change a dimension, without saying of what.
            if before in (None, len(self.labels)):
                raise
            cause = error
        n_weights = before if cause else head.maybe_get_dim("nO")
        if n_weights is not None and n_weights != len(self.labels):
            raise ValueError(
                Errors.SP007.format(
                    component=self.name,
                    weights=n_weights,
                    settings=len(self.labels),
                    labels=", ".join(self.labels),
                )
            ) from cause
        _ = self.settings, self.codec  # check themselves
