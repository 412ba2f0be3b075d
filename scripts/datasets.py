"""The datasets of the workflow: their files, languages and formats."""

from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.corpus.options import DocOptions, ReadOptions
from spacy_spanner.corpus.records import LostSpans

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"
SPANS_KEY = "ents"
SPLITS = ("train", "dev", "test")
# If a corpus has no dev part, every tenth document of the train part is held out.
HELD_OUT = 10
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Dataset(NamedTuple):
    """A corpus that the workflow can train on.

    folder (Path): the folder of its files.
    lang (str): language code of the pipeline.
    format (str): name of a format of `python -m spacy spanner convert`.
    train, dev, test (str): glob patterns for the files or folders of the parts; if
        `dev` is empty, the dev part is held out from the train part.
    lists (str): files with the names of the documents of a part, with `{split}` for the
        name of the part; used if all parts are in one folder.
    sentences (bool): whether each document is a sentence of the corpus.
    read_options, doc_options (Mapping[str, Any]): options that are not the defaults.
    """

    folder: Path
    lang: str
    format: str
    train: str
    dev: str
    test: str
    lists: str = ""
    sentences: bool = True
    read_options: Mapping[str, Any] = NO_OPTIONS
    doc_options: Mapping[str, Any] = NO_OPTIONS

    def files(self, split: str) -> List[Path]:
        """RETURNS (List[Path]): files or folders of a split, in a fixed order."""
        pattern = getattr(self, split)
        return sorted(self.folder.glob(pattern)) if pattern else []

    def require(self, split: str) -> List[Path]:
        """RETURNS (List[Path]): files or folders of a split.

        RAISES (SystemExit): if there are none.
        """
        found = self.files(split)
        if not found:
            raise SystemExit(f"There is no {getattr(self, split)} in {self.folder}")
        return found

    def missing(self) -> List[str]:
        """RETURNS (List[str]): missing files, relative to the folder."""
        wanted = [split for split in SPLITS if getattr(self, split)]
        lost = [getattr(self, split) for split in wanted if not self.files(split)]
        lists = [self.lists.format(split=split) for split in wanted if self.lists]
        lost += [name for name in lists if not (self.folder / name).is_file()]
        return [*dict.fromkeys(lost)]  # parts with lists share a folder

    def read(
        self, split: str, nlp: Language, lost: Optional[LostSpans] = None
    ) -> Iterator[Doc]:
        """Read the annotated documents of a split.

        split (str): "train", "dev" or "test".
        nlp (Language): for the vocabulary and the tokenizer.
        lost (Optional[LostSpans]): collects the entities that cannot be represented.
        YIELDS (Doc): the documents.
        """
        if not self.dev and split in ("train", "dev"):
            held_out = split == "dev"
            for number, doc in enumerate(self._read_part("train", nlp, lost), start=1):
                if (number % HELD_OUT == 0) == held_out:
                    yield doc
        else:
            yield from self._read_part(split, nlp, lost)

    def _read_part(
        self, split: str, nlp: Language, lost: Optional[LostSpans]
    ) -> Iterator[Doc]:
        options = dict(self.read_options)
        if self.lists:
            names = (self.folder / self.lists.format(split=split)).read_text("utf8")
            options["documents"] = tuple(filter(str.strip, names.split("\n")))
        for path in self.require(split):
            yield from read_docs(
                path,
                nlp,
                format=self.format,
                read_options=ReadOptions(**options),
                doc_options=DocOptions(spans_key=SPANS_KEY, **self.doc_options),
                lost=lost,
            )


# Sentences keep their neighbours, which some encoders read as context.
SPLIT = {"split_sentences": True, "context": 1}
BY_RULES = {**SPLIT, "sentences": "rules"}
CHARACTERS = {**SPLIT, "characters": True}


def _demo(lang: str) -> Dataset:
    return Dataset(
        ASSETS / "demo" / lang,
        lang,
        "brackets",
        "train*.txt",
        "dev*.txt",
        "test*.txt",
        sentences=False,
    )


def _ace(name: str) -> Dataset:
    return Dataset(
        ASSETS / name,
        "en",
        "ace",
        "data",
        "data",
        "data",
        lists="splits/{split}.txt",
        doc_options=BY_RULES,
    )


DATASETS: Dict[str, Dataset] = {
    "demo": _demo("en"),
    "demo_zh": _demo("zh"),
    "conll03": Dataset(
        ASSETS / "conll03",
        "en",
        "conll",
        "eng.train",
        "eng.testa",
        "eng.testb",
        read_options={"tag_columns": (-1,)},
        doc_options=SPLIT,
    ),
    "ontonotes5": Dataset(
        ASSETS / "ontonotes5",
        "en",
        "ontonotes",
        "train",
        "development",
        "test",
        doc_options=SPLIT,
    ),
    "ontonotes4": Dataset(
        ASSETS / "ontonotes4",
        "zh",
        "ontonotes-name",
        "train",
        "dev",
        "test",
        doc_options=CHARACTERS,
    ),
    "ace04": _ace("ace04"),
    "ace05": _ace("ace05"),
    "kbp17": Dataset(
        ASSETS / "kbp17",
        "en",
        "kbp",
        "train",
        "dev",
        "test",
        doc_options=BY_RULES,
    ),
    "genia": Dataset(
        ASSETS / "genia",
        "en",
        "conll",
        "genia.train.iob2",
        "genia.dev.iob2",
        "genia.test.iob2",
    ),
    "msra": Dataset(
        ASSETS / "msra", "zh", "conll", "msra_train_bio.txt", "", "msra_test_bio.txt"
    ),
    "weibo": Dataset(
        ASSETS / "weibo",
        "zh",
        "conll",
        "weiboNER_2nd_conll.train",
        "weiboNER_2nd_conll.dev",
        "weiboNER_2nd_conll.test",
    ),
    "resume": Dataset(
        ASSETS / "resume",
        "zh",
        "conll",
        "train.char.bmes",
        "dev.char.bmes",
        "test.char.bmes",
    ),
    "wnut17": Dataset(
        ASSETS / "wnut17",
        "en",
        "conll",
        "wnut17train.conll",
        "emerging.dev.conll",
        "emerging.test.annotated",
    ),
}
DEMOS = ("demo", "demo_zh")


def get_dataset(name: str, genia_train: str = "train") -> Dataset:
    """Look up a dataset.

    name (str): its name.
    genia_train (str): part of GENIA to train on; with "dev" the large train part is
        not needed, and a tenth of the dev part is held out.
    RETURNS (Dataset): the dataset of that name.
    RAISES (SystemExit): for an unknown name; the message lists those that exist.
    """
    if name not in DATASETS:
        names = ", ".join(DATASETS)
        raise SystemExit(f"Unknown dataset {name!r}. Choose from: {names}")
    if genia_train not in ("train", "dev"):
        raise SystemExit(f"genia_train must be train or dev, but is {genia_train!r}")
    dataset = DATASETS[name]
    if name == "genia" and genia_train == "dev":
        return dataset._replace(train=dataset.dev, dev="")
    return dataset
