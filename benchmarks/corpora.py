"""The corpora of the panel: files in a data folder, and the demo corpora."""

import random
import sys
from hashlib import md5
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence

from spacy.language import Language
from spacy.tokens import Doc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from datasets import (
    BY_RULES,
    SPLITS,
    Dataset,
    get_dataset,
)


class PanelCorpus(NamedTuple):
    """A corpus of the panel; every document is a sentence.

    dataset (Dataset): its files; the folder is relative to the data folder.
    flat (bool): whether no entities overlap, so that spaCy's ner can be trained.
    max_size (int): number of tokens of the longest spans that spancat suggests: 12, or
        the length that covers 99 % of the training spans if that is more.
    """

    dataset: Dataset
    flat: bool = True
    max_size: int = 12

    def located(self, data: Path) -> Dataset:
        """RETURNS (Dataset): the dataset in a data folder."""
        return self.dataset._replace(folder=data / self.dataset.folder)

    def read(
        self, data: Path, nlp: Language, *, max_sentences: int
    ) -> Dict[str, List[Doc]]:
        """Read all splits, in a fixed order.

        max_sentences (int): number of sentences of the train and the dev split to draw,
            the same ones in every run; 0 for all. The test split is never shortened.
        RETURNS (Dict[str, List[Doc]]): documents by split.
        """
        dataset = self.located(data)
        docs = {split: [*dataset.read(split, nlp)] for split in SPLITS}
        for split in ("train", "dev"):
            docs[split] = draw(docs[split], max_sentences or len(docs[split]), seed=0)
        return docs

    def digest(self, data: Path) -> str:
        """RETURNS (str): a checksum of all files."""
        dataset, found = self.located(data), md5(usedforsecurity=False)
        for path in [path for split in SPLITS for path in dataset.files(split)]:
            found.update(path.read_bytes())
        return found.hexdigest()


def draw(docs: Sequence[Doc], n_docs: int, *, seed: int) -> List[Doc]:
    """RETURNS (List[Doc]): a random sample in the order of the corpus."""
    numbers = range(len(docs))
    chosen = random.Random(seed).sample(numbers, min(n_docs, len(docs)))
    return [docs[number] for number in sorted(chosen)]


def _known(name: str, **about: object) -> PanelCorpus:
    """RETURNS (PanelCorpus): a dataset of the workflow, in a folder of its name."""
    return PanelCorpus(get_dataset(name, "dev")._replace(folder=Path(name)), **about)


def _columns(folder: str, lang: str, *files: str, flat: bool = True) -> PanelCorpus:
    return PanelCorpus(Dataset(Path(folder), lang, "conll", *files), flat)


def _demo(name: str, max_size: int = 12) -> PanelCorpus:
    dataset = get_dataset(name)._replace(doc_options=BY_RULES)  # an absolute folder
    return PanelCorpus(dataset, flat=False, max_size=max_size)


_TSV = ("train.tsv", "devel.tsv", "test.tsv")
_DANPLUS = ("da_news_train.tsv", "da_news_dev.tsv", "da_news_test.tsv")
# The models are trained on the small dev split of GENIA, of which a tenth is held out.
CORPORA: Dict[str, PanelCorpus] = {
    "genia": _known("genia", flat=False),
    "danplus": _columns("danplus", "da", *_DANPLUS, flat=False),
    "demo": _demo("demo"),
    "demo_zh": _demo("demo_zh", max_size=18),
    "wnut17": _known("wnut17"),
    "bc5cdr": _columns("bc5cdr", "en", *_TSV),
    "ncbi_disease": _columns("ncbi_disease", "en", *_TSV),
    "weibo": _known("weibo"),
    "resume": _known("resume", max_size=17),
}
