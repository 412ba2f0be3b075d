"""A component that fails, or kills its process, if the text contains a certain word.

Workers import this file by `--code`; deaths that happen only once leave a file.
"""

import os
import signal
import time
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

POISON, DEADLY, ONCE, SLOW = "POISON", "DEADLY", "ONCE", "SLOW"
MARKERS = "SPANNER_TEST_MARKERS"
HURRY = "SPANNER_TEST_HURRY"  # slow texts take no time


@Language.component("spanner_test_trouble")
def trouble(doc: Doc) -> Doc:
    """Do what the text asks for."""
    if POISON in doc.text:
        raise ArithmeticError("a poisoned\ndocument")
    if SLOW in doc.text and HURRY not in os.environ:
        time.sleep(0.3)
    if DEADLY in doc.text or (ONCE in doc.text and first_time(doc.text)):
        os.kill(os.getpid(), signal.SIGKILL)
    return doc


def first_time(text: str) -> bool:
    """RETURNS (bool): whether no process has died of this text before."""
    marker = Path(os.environ[MARKERS]) / text.split()[0]
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
