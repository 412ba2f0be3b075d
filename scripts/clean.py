"""Delete the folders that the workflow writes."""

import shutil

from datasets import ROOT

OUTPUTS = ("corpus", "training", "metrics", "packages")


def main() -> None:
    """Delete corpora, trained pipelines, metrics and packages."""
    for name in OUTPUTS:
        shutil.rmtree(ROOT / name, ignore_errors=True)


if __name__ == "__main__":
    main()
