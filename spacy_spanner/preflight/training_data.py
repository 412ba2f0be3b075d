"""Check the data of a training config, read as training will read it."""

from pathlib import Path
from typing import Any, Dict, List, Optional

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.util import load_config, load_model_from_config, registry, resolve_dot_names

from ..errors import Errors
from ..evaluation.predicting import read_corpus
from .data_check import DataCheck, check_data, span_components


def debug_data(
    path: Path, overrides: Dict[str, Any], *, test: Optional[Path] = None
) -> List[DataCheck]:
    """Check the data of all span components of a config.

    path (Path): the config.
    overrides (Dict[str, Any]): settings to override, by dotted name.
    test (Optional[Path]): the annotated documents of the test part.
    RETURNS (List[DataCheck]): one per component.
    RAISES (ValueError): SP077 if the config has no span component, SP078 if data cannot
        be read.
    """
    config = load_config(path, overrides=overrides, interpolate=False)
    nlp = load_model_from_config(config, auto_fill=True)
    names = span_components(nlp)
    if not names:
        pipeline = ", ".join(nlp.pipe_names) or "no component"
        raise ValueError(Errors.SP077.format(path=path, pipeline=pipeline))
    splits = read_splits(nlp, path)
    checks = []
    for name in names:
        parts = dict(splits)
        if test is not None:
            key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
            parts["test"] = read_corpus(test, nlp, key)
        annotate(nlp, parts)
        checks.append(check_data(nlp, name, parts))
    return checks


def read_splits(nlp: Language, path: Path) -> Dict[str, List[Example]]:
    """Read the training and development data of a config.

    nlp (Language): the pipeline of the config.
    path (Path): the config, for the error message.
    RETURNS (Dict[str, List[Example]]): "train" and "dev".
    RAISES (ValueError): SP078 if one of them cannot be read.
    """
    config = nlp.config.interpolate()
    training = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    splits: Dict[str, List[Example]] = {}
    for part, name in zip(("train", "dev"), names):
        try:
            (corpus,) = resolve_dot_names(config, [name])
            splits[part] = list(corpus(nlp))
        except Exception as error:
            # Unset paths and broken files raise errors of many types.
            raise ValueError(
                Errors.SP078.format(part=part, path=path, error=error)
            ) from error
    return splits


def annotate(nlp: Language, splits: Dict[str, List[Example]]) -> None:
    """Run the untrained annotating components of the config, such as a sentencizer, on
    the predicted documents.
    """
    names = nlp.config["training"].get("annotating_components") or []
    for name in names:
        pipe: Any = nlp.get_pipe(name)
        if not getattr(pipe, "is_trainable", False):
            for examples in splits.values():
                for example in examples:
                    pipe(example.predicted)
