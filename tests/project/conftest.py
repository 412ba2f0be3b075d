"""What several tests of the project need."""

from pathlib import Path
from typing import Dict

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vectors import Vectors


@pytest.fixture(scope="session")
def taggers(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Path]:
    """Pipelines with word vectors, and a tagger on a shared encoder, by language."""
    paths = {}
    for lang in ("en", "zh"):
        nlp = spacy.blank(lang)
        nlp.vocab.vectors = Vectors(data=np.ones((1, 5), dtype="f"), keys=["x"])
        nlp.add_pipe("tok2vec")
        listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96}
        nlp.add_pipe("tagger", config={"model": {"tok2vec": listener}})
        example = Example(nlp.make_doc("x"), Doc(nlp.vocab, words=["x"], tags=["NN"]))
        nlp.initialize(lambda example=example: [example])
        paths[lang] = tmp_path_factory.mktemp("tagger")
        nlp.to_disk(paths[lang])
    return paths
