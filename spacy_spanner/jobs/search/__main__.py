"""`python -m spacy_spanner.jobs.search FOLDER`: train one trial of a search."""

import sys
from pathlib import Path

from .one_trial import run_trial

if __name__ == "__main__":
    run_trial(Path(sys.argv[1]))
