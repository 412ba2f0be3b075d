"""Digests of the data, by which changes are noticed."""

from pathlib import Path

from spacy_spanner.jobs.run.digests import data_digests


def test_digests_are_of_the_files_of_both_corpora(tmp_path: Path) -> None:
    train, dev = tmp_path / "train.spacy", tmp_path / "dev"
    dev.mkdir()
    config = {
        "training": {"train_corpus": "corpora.train", "dev_corpus": "corpora.dev"},
        "corpora": {
            "train": {"@readers": str(train), "path": str(train), "limit": 0},
            "dev": {"path": str(dev), "cache": str(tmp_path / "none")},
            "pretrain": {"path": str(train)},
        },
    }
    seen = []
    for name in ("train.spacy", "dev/a", "dev/b"):
        (tmp_path / name).write_text("x")
        seen.append(data_digests(config))
    assert list(seen[-1]) == ["corpora.train.path", "corpora.dev.path"]
    assert len({digest["corpora.dev.path"] for digest in seen}) == 3
    assert len({digest["corpora.train.path"] for digest in seen}) == 1
    (dev / "b").rename(dev / "c")
    train.write_text("y")
    assert not set(data_digests(config).items()) & set(seen[-1].items())
