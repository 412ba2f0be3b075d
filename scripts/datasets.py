"""The datasets of the workflow: where they lie, their language and their format."""

from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from spacy_spanner.corpus import brackets

ROOT = Path(__file__).resolve().parent.parent
SPANS_KEY = "ents"
SPLITS = ("train", "dev", "test")


class Dataset(NamedTuple):
    """A corpus that the workflow can train on.

    folder (Path): where its files lie.
    lang (str): language code of the pipeline.
    separator (str): what stands between two sentences of a text.
    """

    folder: Path
    lang: str
    separator: str

    def files(self, split: str) -> List[Path]:
        """RETURNS (List[Path]): the files of a split, in a fixed order."""
        return sorted(self.folder.glob(f"{split}*.txt"))

    def read(self, split: str, nlp: Language) -> Iterator[Doc]:
        """YIELDS (Doc): annotated documents of a split."""
        for path in self.files(split):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            for sentences in brackets.read_documents(lines, source=path.name):
                yield brackets.to_doc(
                    sentences,
                    nlp,
                    spans_key=SPANS_KEY,
                    separator=self.separator,
                    source=path.name,
                )


DATASETS: Dict[str, Dataset] = {
    "demo": Dataset(ROOT / "assets" / "demo" / "en", "en", " "),
    "demo_zh": Dataset(ROOT / "assets" / "demo" / "zh", "zh", ""),
}


def get_dataset(name: str) -> Dataset:
    """RETURNS (Dataset): the dataset of that name.

    RAISES (SystemExit): for an unknown name, with those that exist.
    """
    if name not in DATASETS:
        names = ", ".join(DATASETS)
        raise SystemExit(f"Unknown dataset {name!r}. Choose from: {names}")
    return DATASETS[name]
