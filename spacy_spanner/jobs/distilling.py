"""Train a small pipeline, the student, on texts that a better one, the teacher, reads.

The output folder contains, in the order of their making:

    texts/         the texts with all that the teacher finds in them, part by part
    config.cfg     the config of the student, whose training corpus has these texts, too
    checkpoints/   the training so far
    model-best/, model-last/   the student
    trained.json   written last
"""

import shutil
import warnings
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

from spacy.language import Language
from spacy.pipeline import SpanCategorizer
from spacy.training.initialize import init_nlp
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST, train
from spacy.util import (
    dict_to_dot,
    dot_to_object,
    load_config,
    load_model_from_config,
    registry,
    set_dot_to_object,
)
from thinc.api import Config

from ..errors import Errors, Warnings
from ..evaluation.predicting import find_source, labels_of, span_components
from ..files import write_json
from ..output_checks import require_apart
from ..pipeline.config_checks import corpus_of
from .annotate.annotator import SpanAnnotator
from .annotate.messages import Fields
from .annotate.plan import find_sources
from .annotate.run import Request
from .run.checkpoint import last_checkpoint
from .run.optimizer_state import require_known
from .run.resuming import finish_run, load_run

TEXTS, CONFIG, CHECKPOINTS = "texts", "config.cfg", "checkpoints"
DONE = "trained.json"
# What a training replaces in its folder.
REPLACED = (TEXTS, CONFIG, CHECKPOINTS, DIR_MODEL_BEST, DIR_MODEL_LAST, DONE)
# Spans with lower scores are no entities; to store them all would be slow.
LOWEST = 0.05
CHECKPOINT = "spacy_spanner.checkpoint.v1"
JOINED = "spacy_spanner.callbacks.v1"


class Taught(NamedTuple):
    """What the texts tell.

    group (str): the span group of the teacher.
    labels (Optional[List[str]]): the labels of the teacher; None if it does not say,
        and the texts are taken to have no others.
    """

    group: str
    labels: Optional[List[str]]


def taught_by(teacher: SpanAnnotator) -> Taught:
    """RETURNS (Taught): what a teacher writes to texts.

    RAISES (ValueError): SP185 for a teacher without scores.
    """
    source = find_source(teacher.nlp, str(teacher.key))
    return Taught(source.key, labels_of(teacher.nlp, source) or None)


class Student:
    """A training config of a student, and the folder for all that belongs to it.

    config (Config): the config, with everything that it leaves out.
    keys (List[str]): the span groups of its components.
    output (Path): the folder.
    """

    def __init__(self, path: Path, overrides: Dict[str, Any], output: Path) -> None:
        """Find what is wrong before the teacher reads.

        path (Path): the config.
        overrides (Dict[str, Any]): settings that differ from it.
        output (Path): folder for the student.
        RAISES (ValueError): SP191 for a pipeline that does not learn spans, SP110 for
            an optimizer that cannot be stored; spaCy's errors for missing corpora.
        """
        raw = load_config(path, overrides=overrides, interpolate=False)
        nlp = load_model_from_config(raw, auto_fill=True)
        self.config, self.output = _with_sources(nlp.config, raw), output.absolute()
        pipes = span_components(nlp)
        if not pipes:
            pipeline = ", ".join(nlp.pipe_names) or "no component"
            message = Errors.SP191.format(config=path, pipeline=pipeline)
            raise ValueError(message)
        self.keys = sorted({pipe.cfg["spans_key"] for pipe in pipes.values()})
        whole = self.config.interpolate()
        self._inputs = [path, *_paths_in(whole)]
        require_known(whole["training"]["optimizer"])
        _warn_of_others(nlp, whole["training"]["frozen_components"])
        self._read_some(nlp, whole)

    def _read_some(self, nlp: Language, whole: Config) -> None:
        """Read a document of each corpus, to see whether it is there."""
        gold = _gold_of(whole)
        # The training corpus may lack a path, which its reader would not take.
        config = whole.copy()
        set_dot_to_object(config, config["training"]["train_corpus"], None)
        nlp.config = config
        corpora = [corpus_of(nlp, "dev_corpus")]
        if gold is not None:
            corpora.append(registry.resolve({"gold": gold})["gold"])
        for corpus in corpora:
            next(iter(corpus(nlp)), None)

    def taught_by(self, taught: Taught) -> Config:
        """RETURNS (Config): the config of a training that also learns from the texts,
        and stores checkpoints.
        """
        config = self.config.copy()
        training = config["training"]
        gold = _gold_of(config)
        block = {
            "@readers": "spacy_spanner.taught_corpus.v1",
            "path": str(self.output / TEXTS),
            "source": taught.group,
            "targets": self.keys,
            "labels": taught.labels,
            "gold": gold,
        }
        set_dot_to_object(config, training["train_corpus"], block)
        training["before_update"] = {
            "@callbacks": JOINED,
            "callbacks": {
                "checkpoint": {
                    "@callbacks": CHECKPOINT,
                    "path": str(self.output / CHECKPOINTS),
                },
                **_without_checkpoints(training["before_update"]),
            },
        }
        return config

    def require_apart(self, teacher: str) -> None:
        """Keep what the student is made of, whatever may be replaced.

        teacher (str): folder or package.
        RAISES (ValueError): SP192 if the folder has the teacher, and SP144 if the
            student's config, the source of a component or a corpus would be replaced.
        """
        place = Path(teacher).resolve()
        if place.exists() and self.output.resolve() in (place, *place.parents):
            raise ValueError(Errors.SP192.format(folder=self.output, teacher=teacher))
        self._require_kept(self._inputs)

    def require_texts_apart(self, texts: Sequence[str]) -> None:
        """Keep the texts.

        texts (Sequence[str]): files, folders and globs.
        RAISES (ValueError): SP144 if one of them would be replaced, SP120 if there are
            none, or only those that an earlier teacher has read.
        """
        files = find_sources(texts, output=self.output / TEXTS)
        # There may be very many files, but few folders.
        self._require_kept(sorted({file.path.resolve().parent for file in files}))

    def _require_kept(self, inputs: Sequence[Path]) -> None:
        for name in REPLACED:
            require_apart(self.output / name, inputs)

    def require_own_folder(self, teacher: str, taught: Taught) -> None:
        """Keep all pipelines that this student did not write.

        RAISES (ValueError): SP192 if the folder has another pipeline, and SP190 if it
            has a student with other settings.
        """
        models = [self.output / name for name in (DIR_MODEL_BEST, DIR_MODEL_LAST)]
        stored = self.output / CONFIG
        if not stored.exists() and any(one.exists() for one in models):
            raise ValueError(Errors.SP192.format(folder=self.output, teacher=teacher))
        if not stored.exists() or not (self.is_trained or self._checkpoint):
            return
        settings = [
            dict_to_dot(config)
            for config in (
                Config().from_disk(stored, interpolate=False),
                Config().from_str(self.taught_by(taught).to_str(), interpolate=False),
            )
        ]
        names = sorted({*settings[0], *settings[1]})
        other = [one for one in names if settings[0].get(one) != settings[1].get(one)]
        if other:
            message = Errors.SP190.format(folder=self.output, settings=", ".join(other))
            raise ValueError(message)

    @property
    def is_trained(self) -> bool:
        """Whether the training has come to its end."""
        return (self.output / DONE).exists()

    @property
    def _checkpoint(self) -> Optional[Path]:
        return last_checkpoint(self.output / CHECKPOINTS)

    def forget(self) -> None:
        """Remove what is known of an earlier training, but no pipelines."""
        shutil.rmtree(self.output / CHECKPOINTS, ignore_errors=True)
        for name in (DONE, CONFIG):
            (self.output / name).unlink(missing_ok=True)

    def train(self, taught: Taught, *, use_gpu: int = -1) -> None:
        """Train, or go on where an interrupted training has stopped."""
        if self._checkpoint is not None:
            run = load_run(self.output / CHECKPOINTS, use_gpu=use_gpu)
            finish_run(run, self.output)
        else:
            config = self.taught_by(taught)
            config.to_disk(self.output / CONFIG)
            train(init_nlp(config, use_gpu=use_gpu), self.output, use_gpu=use_gpu)
        # The last steps come after the last checkpoint.
        steps = self.config.interpolate()["training"]["max_steps"]
        write_json(self.output / DONE, {"max_steps": steps})


def _paths_in(whole: Config) -> List[Path]:
    """RETURNS (List[Path]): the pipelines and corpora that a config reads."""
    sources = [block.get("source") for block in whole["components"].values()]
    corpora = [block.get("path") for block in whole["corpora"].values()]
    found = [*sources, *corpora]
    return [Path(path) for path in found if path and isinstance(path, str)]


def _with_sources(filled: Config, raw: Config) -> Config:
    """RETURNS (Config): the config of a pipeline, whose sourced components are still
    taken from other pipelines. By spaCy's account they come from a factory, which would
    make them anew, without their weights.
    """
    config = filled.copy()
    for name, block in raw["components"].items():
        if name in config["components"] and "source" in block:
            config["components"][name] = block
    return config


def _warn_of_others(nlp: Language, frozen: Iterable[str]) -> None:
    """Warn (SW190) of components that take texts for texts without spans."""
    names = [
        name
        for name, pipe in nlp.pipeline
        if isinstance(pipe, SpanCategorizer) and name not in frozen
    ]
    if names:
        warnings.warn(Warnings.SW190.format(names=", ".join(names)), stacklevel=4)


def _gold_of(config: Config) -> Optional[Any]:
    """RETURNS (Optional[Any]): the block of the training corpus; None if it has no
    path.
    """
    name = config["training"]["train_corpus"]
    interpolated = dot_to_object(config.interpolate(), name)
    return dot_to_object(config, name) if interpolated.get("path", True) else None


def _without_checkpoints(block: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the callbacks of a block, by name, but those that store
    checkpoints elsewhere.
    """
    if not block:
        return {}
    joined = block["callbacks"] if block.get("@callbacks") == JOINED else {"own": block}
    return {
        name: one for name, one in joined.items() if one["@callbacks"] != CHECKPOINT
    }


def reading_of(
    teacher: SpanAnnotator,
    texts: List[str],
    output: Path,
    *,
    fields: Fields,
    by_line: bool = False,
) -> Request:
    """RETURNS (Request): the annotation of the texts by the teacher."""
    return Request(
        teacher,
        texts,
        output / TEXTS,
        format="spacy",
        fields=fields,
        by_line=by_line,
    )
