"""Texts to predict, of which some were never learned."""

from ...helpers import NESTED, texts

UNSEEN = [
    "The mayor of Oslo met the US Supreme Court in Leon County.",
    "Ana Ruiz will hear arguments all day on Friday.",
    "It rained.",
    "Boston, Leon County and the US.",
]
MANY = [*texts(NESTED), *UNSEEN] * 6
