"""Write `.spacy` files, faster than spaCy does.

spaCy's `DocBin.add` looks up nine strings for each token. Converted documents contain
only words, sentences and spans, so only distinct new words need a lookup.
`SpanGroup.to_bytes` creates a packer each time, which reads the entry points of all
installed packages; here, one packer is reused.
"""

import struct
import warnings
from pathlib import Path
from typing import Callable, Dict, List, Optional, Set

import spacy
from spacy.attrs import ORTH, SPACY
from spacy.tokens import Doc, DocBin
from srsly.msgpack import Packer

from ..errors import Warnings
from ..files import Draft, DraftFolder
from .writers import Writer, surplus_files

# Half a million tokens take a few megabytes.
SHARD_TOKENS = 500_000
# Names of the files in a folder.
NAME = "{:05}.spacy"
LEAN_ATTRS = ("ORTH", "SENT_START")
ENT_ATTRS = ("ENT_IOB", "ENT_TYPE")


# spaCy's layout of a span: id, kb_id, label, start, end, start_char, end_char.
_SPAN = struct.Struct(">QQQllll")


def pack_groups(doc: Doc, packer: Packer) -> bytes:
    """RETURNS (bytes): the same as `doc.spans.to_bytes()`, if the format is known."""
    groups: Dict[bytes, List[str]] = {}
    for key, group in doc.spans.items():
        spans = [
            _SPAN.pack(s.id, s.kb_id, s.label, s.start, s.end, s.start_char, s.end_char)
            for s in group
        ]
        content = {"name": group.name, "attrs": group.attrs, "spans": spans}
        groups.setdefault(packer.pack(content), []).append(key)
    return packer.pack(groups) if groups else doc.spans.to_bytes()


class LeanDocBin(DocBin):
    """A `DocBin` for documents with only words, sentences, spans, entities and the
    neighbours of sentences.

    with_ents (bool): store `doc.ents` too.
    """

    def __init__(self, *, with_ents: bool = False) -> None:
        attrs = LEAN_ATTRS + ENT_ATTRS if with_ents else LEAN_ATTRS
        super().__init__(attrs=attrs, store_user_data=True)
        self._known: Set[int] = set()
        self._packer = Packer(use_bin_type=True)
        self._packs_as_spacy: Optional[bool] = None  # known from the first spans on

    def add(self, doc: Doc) -> None:
        """Add a document."""
        tokens = doc.to_array(list(self.attrs))
        self.tokens.append(tokens)
        self.spaces.append(doc.to_array(SPACY).astype(bool).reshape(-1, 1))
        self.flags.append({"has_unknown_spaces": doc.has_unknown_spaces})
        self.cats.append({})
        self.user_data.append(self._packer.pack(doc.user_data))
        strings = doc.vocab.strings
        new = set(tokens[:, self.attrs.index(ORTH)].tolist()) - self._known
        self._known |= new
        self.strings.update(strings[orth] for orth in new)
        self.strings.update(span.label_ for span in doc.ents)
        for group in doc.spans.values():
            for span in group:
                self.strings.add(span.label_)
                self.strings.add(span.id_)
        self.span_groups.append(self._pack_groups(doc))

    def _pack_groups(self, doc: Doc) -> bytes:
        """Pack span groups, with spaCy itself if its format is another one."""
        if self._packs_as_spacy is None and doc.spans:
            same = pack_groups(doc, self._packer) == doc.spans.to_bytes()
            self._packs_as_spacy = same
            if not same:
                warnings.warn(Warnings.SW060.format(version=spacy.__version__))
        if self._packs_as_spacy:
            return pack_groups(doc, self._packer)
        return doc.spans.to_bytes()


class SpacyWriter(Writer):
    """Write one `.spacy` file, or a folder of them.

    target (Path): a file, if its name ends in ".spacy"; otherwise a folder.
    shard_tokens (int): tokens per file of a folder. A single file is kept in memory
        until it is complete.
    lean (bool): whether documents contain only words, sentences and spans.
    with_ents (bool): whether lean documents also contain `doc.ents`.
    """

    def __init__(
        self,
        target: Path,
        *,
        shard_tokens: int = SHARD_TOKENS,
        lean: bool = True,
        with_ents: bool = False,
    ) -> None:
        self._in_folder = target.suffix != ".spacy"
        super().__init__(DraftFolder(target) if self._in_folder else Draft(target))
        self._target = target
        self._shard_tokens = shard_tokens
        self._make: Callable[[], DocBin] = lambda: (
            LeanDocBin(with_ents=with_ents) if lean else DocBin(store_user_data=True)
        )
        self._bin = self._make()
        self._n_tokens = 0
        self._n_files = 0

    def add(self, doc: Doc) -> None:
        """Add a document, and write the file if it is full."""
        self._bin.add(doc)
        self._n_tokens += len(doc)
        if self._in_folder and self._n_tokens >= self._shard_tokens:
            self._flush()

    def _flush(self) -> None:
        name = NAME.format(self._n_files)
        path = self._draft.path
        self._bin.to_disk(path / name if self._in_folder else path)
        self._n_files += 1
        self._bin, self._n_tokens = self._make(), 0

    def close(self) -> None:
        """Write the remaining documents, or an empty file if there are none, and delete
        surplus files of a larger corpus in this folder.
        """
        if self._n_tokens or not self._n_files:
            self._flush()
        super().close()
        if self._in_folder:
            for path in surplus_files(self._target, NAME, self._n_files):
                path.unlink()
