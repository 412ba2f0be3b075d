"""Store a component whole, and load it only if it is undamaged: `StoredPipe`."""

from functools import partial
from typing import Any, Dict, Iterable

from spacy.pipeline import TrainablePipe
from spacy.util import ensure_path

from . import storage
from .overrides import with_origin
from .weights_lock import WeightsLock, changes_weights, reads_weights


class StoredPipe(TrainablePipe):
    """A component whose settings, labels and weights are stored with their digests.

    made_with (Dict[str, Any]): the settings that it was created with.
    defaults (Dict[str, Any]): the defaults of its factory.
    weights_lock (WeightsLock): held while weights change.
    """

    cfg: Dict[str, Any]
    made_with: Dict[str, Any]
    defaults: Dict[str, Any]
    weights_lock: WeightsLock

    @reads_weights
    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        """RETURNS (bytes): settings, labels, weights, and their digests."""
        return storage.complete_bytes(super().to_bytes(exclude=exclude), self._origin)

    @reads_weights
    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Store settings, labels, weights, and their digests: all are complete before
        the first replaces an older one.
        """
        write = partial(super().to_disk, exclude=exclude)
        storage.write_whole(ensure_path(path), write, self._origin)

    @property
    def _origin(self) -> Dict[str, Any]:
        return with_origin(self.cfg, self.made_with)

    @changes_weights
    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = tuple()
    ) -> "StoredPipe":
        """Load settings, labels and weights.

        RAISES (ValueError): SP148 if they are damaged, SP149 for weights that are not
            finite, SP007 if weights and labels do not belong together, SP002 for
            settings out of their limits.
        """
        parts = storage.unpack(bytes_data, self.name)
        storage.check_parts(parts, exclude, f"'{self.name}'")
        load = partial(super().from_bytes, bytes_data, exclude=exclude)
        storage.load_whole(self, load, parts, exclude)
        return self

    @changes_weights
    def from_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> "StoredPipe":
        """Load settings, labels and weights; raises what `from_bytes` raises."""
        folder = ensure_path(path)
        parts = storage.read_parts(folder)
        storage.check_parts(parts, exclude, f"'{self.name}' ({folder})")
        load = partial(super().from_disk, folder, exclude=exclude)
        storage.load_whole(self, load, parts, exclude)
        return self
