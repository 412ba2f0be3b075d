"""Sentences of this project in the raw formats of the datasets of the papers."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import srsly

from spacy_spanner.preflight.recipes import read_table


class Sentence(NamedTuple):
    """Words, and entities by start, exclusive end and label."""

    words: List[str]
    entities: List[Tuple[int, int, str]]


Document = List[Sentence]

ENGLISH: List[Document] = [
    [
        Sentence(["Ann", "Lee", "left", "Rome", "."], [(0, 2, "PER"), (3, 4, "LOC")]),
        Sentence(["She", "met", "Bob", "Ray", "."], [(2, 4, "PER")]),
    ],
    [
        Sentence(["Acme", "hired", "Kim", "."], [(0, 1, "ORG"), (2, 3, "PER")]),
        Sentence(["Nobody", "spoke", "."], []),
        Sentence(["Rome", "slept", "."], [(0, 1, "LOC")]),
    ],
]
CHINESE: List[Document] = [
    [
        Sentence(list("王小明在北京。"), [(0, 3, "PER"), (4, 6, "LOC")]),
        Sentence(list("他见李红。"), [(2, 4, "PER")]),
    ],
    [Sentence(list("无人说话。"), []), Sentence(list("张三走。"), [(0, 2, "PER")])],
]
# More than ten sentences, so that a dev part can be held out.
REPEATED = 4
PARTS = ("train", "dev", "test")


def tags(sentence: Sentence, begin: str = "B", last: str = "I") -> List[str]:
    """RETURNS: one tag for each word; `last` is the prefix of the last word."""
    found = ["O"] * len(sentence.words)
    for start, end, label in sentence.entities:
        found[start:end] = [f"I-{label}"] * (end - start)
        found[end - 1] = f"{last}-{label}"
        found[start] = f"{begin}-{label}"
    return found


def columns(documents: Sequence[Document], *others: str, **options: str) -> str:
    """RETURNS: a word, other columns and a tag in each line."""
    return "".join(
        " ".join([word, *others, tag]) + "\n" if word else "\n"
        for document in documents
        for sentence in document
        for word, tag in [*zip(sentence.words, tags(sentence, **options)), ("", "")]
    )


def conll03(folder: Path, part: str, documents: Sequence[Document]) -> None:
    name = {"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"}[part]
    parts = [columns([one], "NN", "I-NP", begin="I") for one in documents]
    write(folder / name, "".join("-DOCSTART- -X- O O\n\n" + text for text in parts))


def ontonotes5(folder: Path, part: str, documents: Sequence[Document]) -> None:
    lines = []
    for number, document in enumerate(documents):
        lines.append(f"#begin document (bn/a); part {number:03}")
        for sentence in document:
            names = ["*"] * len(sentence.words)
            for start, end, label in sentence.entities:
                names[start] = f"({label}*"
                names[end - 1] = names[end - 1].replace("*", "") + ")"
            for index, (word, name) in enumerate(zip(sentence.words, names)):
                lines.append(f"bn/a 0 {index} {word} NN (S* - - - - {name} * -")
            lines.append("")
        lines.append("#end document")
    name = "development" if part == "dev" else part
    write(folder / name / "a.gold_conll", "\n".join(lines) + "\n")


def ontonotes4(folder: Path, part: str, documents: Sequence[Document]) -> None:
    text = ""
    for number, document in enumerate(documents):
        lines = []
        for sentence in document:
            words = list(sentence.words)
            for start, end, label in sentence.entities:
                words[start] = f'<ENAMEX TYPE="{label}">{words[start]}'
                words[end - 1] += "</ENAMEX>"
            lines.append(" ".join(words))
        inside = "\n".join(lines)
        text += f'<DOC DOCNO="{number}">\n{inside}\n</DOC>\n'
    write(folder / part / "a.name", text)


def mentions(document: Document) -> Iterator[Tuple[int, str, str]]:
    """YIELDS: first character, text and label of entities in the joined sentences."""
    at = 0
    for sentence in document:
        for start, end, label in sentence.entities:
            first = at + sum(len(word) + 1 for word in sentence.words[:start])
            yield first, " ".join(sentence.words[start:end]), label
        at += len(" ".join(sentence.words)) + 1


def text_of(document: Document) -> str:
    return " ".join(" ".join(sentence.words) for sentence in document)


def ace(folder: Path, part: str, documents: Sequence[Document]) -> None:
    names = [f"{part}{number}" for number in range(len(documents))]
    write(folder / "splits" / f"{part}.txt", "\n".join(names))
    for name, document in zip(names, documents):
        rows = [
            f'<entity TYPE="{label}"><entity_mention><extent><charseq START="{first}" '
            f'END="{first + len(text) - 1}">{text}</charseq></extent></entity_mention>'
            "</entity>"
            for first, text, label in mentions(document)
        ]
        apf = f"<document>{''.join(rows)}</document>"
        write(folder / "data" / f"{name}.apf.xml", apf)
        write(folder / "data" / f"{name}.sgm", f"<TEXT>{text_of(document)}</TEXT>")


def kbp17(folder: Path, part: str, documents: Sequence[Document]) -> None:
    rows = []
    for number, document in enumerate(documents):
        head = f'<doc id="D{number}">\n<post>\n'
        text = f"{head}{text_of(document)}\n</post>\n</doc>\n"
        write(folder / part / f"D{number}.df.xml", text)
        for first, entity, label in mentions(document):
            first += len(head)
            place = f"D{number}:{first}-{first + len(entity) - 1}"
            rows.append(f"gold\tm\t{entity}\t{place}\tNIL\t{label}\tNAM\t1.0\n")
    write(folder / part / "gold.tab", "".join(rows))


def genia(folder: Path, part: str, documents: Sequence[Document]) -> None:
    rows = [row.split() for row in columns(documents).splitlines()]
    lines = ["\t".join([*row, "O", "O", "O"] if row else []) for row in rows]
    write(folder / f"genia.{part}.iob2", "\n".join(lines) + "\n")


def msra(folder: Path, part: str, documents: Sequence[Document]) -> None:
    if part != "dev":
        write(folder / f"msra_{part}_bio.txt", columns(documents))


def weibo(folder: Path, part: str, documents: Sequence[Document]) -> None:
    numbered = [
        [
            Sentence([f"{word}{n}" for n, word in enumerate(words)], entities)
            for words, entities in document
        ]
        for document in documents
    ]
    text = columns(numbered).replace(" ", "\t")
    write(folder / f"weiboNER_2nd_conll.{part}", text)


def resume(folder: Path, part: str, documents: Sequence[Document]) -> None:
    text = columns(documents, last="E").replace("I-", "M-")
    write(folder / f"{part}.char.bmes", text)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")


WRITERS: Dict[str, Callable[[Path, str, Sequence[Document]], None]] = {
    "conll03": conll03,
    "ontonotes5": ontonotes5,
    "ontonotes4": ontonotes4,
    "ace04": ace,
    "ace05": ace,
    "kbp17": kbp17,
    "genia": genia,
    "msra": msra,
    "weibo": weibo,
    "resume": resume,
}
OF_CHINESE = ("ontonotes4", "msra", "weibo", "resume")
# Every model and dataset of the papers.
PAIRS = [
    (model, dataset)
    for model, paper in read_table()["papers"].items()
    if model != "shared"
    for dataset in paper["rows"]
]


def without_checksums(project: Path) -> None:
    """Let a project accept data that are not those of the owners."""
    content: Any = srsly.read_yaml(project)
    for asset in content["assets"]:
        asset.pop("checksum", None)
    srsly.write_yaml(project, content)


def documents_of(dataset: str) -> List[Document]:
    """RETURNS: the documents of each part of a dataset."""
    return (CHINESE if dataset in OF_CHINESE else ENGLISH) * REPEATED


def write_dataset(dataset: str, assets: Path) -> None:
    """Write all parts of a dataset to a folder of assets."""
    for part in PARTS:
        WRITERS[dataset](assets / dataset, part, documents_of(dataset))
