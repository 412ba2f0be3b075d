"""Token vectors that come with label vectors, from an encoder that reads the labels."""

from typing import Iterable, List

from thinc.types import Floats2d, Floats3d

from ..spans.table import Ints


class TypedVectors(List[Floats2d]):
    """Token vectors of each document, as every encoder returns them, and what an
    encoder with prompts found about the labels in each segment of the text.

    types (Floats3d): a vector of each label. Shape: (segment, label, width)
    segment (Ints): the segment of each token of the concatenated documents. (token,)

    Gradients travel back in the same form.
    """

    def __init__(
        self, vectors: Iterable[Floats2d], types: Floats3d, segment: Ints
    ) -> None:
        super().__init__(vectors)
        self.types = types
        self.segment = segment
