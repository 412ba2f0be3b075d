"""Train a small pipeline, the student, on texts that a better one, the teacher, reads.

The output folder contains, in the order of their making:

    texts/         the texts with all that the teacher finds in them, part by part
    config.cfg     the config of the student, whose training corpus has these texts, too
    checkpoints/   the training so far
    model-best/, model-last/   the student
    trained.json   written last
"""

from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_model_from_config, registry
from thinc.api import Config

from ..errors import Errors
from ..evaluation.predicting import span_components
from ..files import write_json
from ..pipeline.config_checks import corpus_of
from .annotate.annotator import SpanAnnotator
from .annotate.messages import Fields
from .annotate.run import Request
from .run.checkpoint import last_checkpoint
from .run.optimizer_state import require_known
from .run.resuming import finish_run, load_run

TEXTS, CONFIG, CHECKPOINTS = "texts", "config.cfg", "checkpoints"
DONE = "trained.json"
# Spans with lower scores are no entities; to store them all would be slow.
LOWEST = 0.05


class Student(NamedTuple):
    """A training config, and how it is used.

    config (Path): the config.
    overrides (Dict[str, Any]): settings that differ from it.
    output (Path): folder for the student and everything that it needs.
    """

    config: Path
    overrides: Dict[str, Any]
    output: Path

    def check(self) -> None:
        """Find what is wrong before the teacher reads.

        RAISES (ValueError): SP191 for a pipeline that does not learn spans, SP110 for
            an optimizer that cannot be stored; spaCy's errors for missing corpora.
        """
        nlp = load_model_from_config(self.taught_by("").interpolate(), auto_fill=True)
        if not span_components(nlp):
            pipeline = ", ".join(nlp.pipe_names) or "no component"
            message = Errors.SP191.format(config=self.config, pipeline=pipeline)
            raise ValueError(message)
        require_known(nlp.config.interpolate()["training"]["optimizer"])
        corpora = [corpus_of(nlp, "dev_corpus")]
        gold = _gold_of(self._load().interpolate())
        if gold is not None:
            corpora.append(registry.resolve({"gold": gold})["gold"])
        for corpus in corpora:
            next(iter(corpus(nlp)), None)

    def taught_by(self, source: str) -> Config:
        """RETURNS (Config): the config of a training that also learns from the texts,
            and stores checkpoints.

        source (str): the span group of the teacher.
        """
        config = self._load()
        nlp = load_model_from_config(config.interpolate(), auto_fill=True)
        keys = {pipe.cfg["spans_key"] for pipe in span_components(nlp).values()}
        *outer, name = config["training"]["train_corpus"].split(".")
        _inner(config, outer)[name] = {
            "@readers": "spacy_spanner.taught_corpus.v1",
            "path": str(self.output / TEXTS),
            "source": source,
            "targets": sorted(keys),
            "gold": _gold_of(config),
        }
        _store_checkpoints(config["training"], self.output / CHECKPOINTS)
        return config

    def _load(self) -> Config:
        return load_config(self.config, overrides=self.overrides, interpolate=False)


def _gold_of(config: Config) -> Optional[Any]:
    """RETURNS (Optional[Any]): the block of the training corpus; None if it has no
    path.
    """
    path = config["training"]["train_corpus"].split(".")
    block: Any = _inner(config, path)
    interpolated = _inner(config.interpolate(), path)
    return block if interpolated.get("path", True) else None


def _inner(config: Any, path: Iterable[str]) -> Any:
    """RETURNS (Any): the block at a path."""
    for name in path:
        config = config[name]
    return config


def _store_checkpoints(training: Dict[str, Any], folder: Path) -> None:
    """Add checkpoints to what the config does before updates."""
    checkpoint = {"@callbacks": "spacy_spanner.checkpoint.v1", "path": str(folder)}
    others = {"others": training["before_update"]} if training["before_update"] else {}
    training["before_update"] = {
        "@callbacks": "spacy_spanner.callbacks.v1",
        "callbacks": {"checkpoint": checkpoint, **others},
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


def train_student(student: Student, source: str, *, use_gpu: int = -1) -> bool:
    """Train the student, or go on where an interrupted training has stopped.

    source (str): the span group of the teacher.
    RETURNS (bool): whether there was anything to train.
    RAISES (ValueError): SP190 if the folder has a training with other settings.
    """
    config, output = student.taught_by(source), student.output
    checkpoints, done = output / CHECKPOINTS, output / DONE
    if done.exists() or last_checkpoint(checkpoints) is not None:
        stored = Config().from_disk(output / CONFIG, interpolate=False)
        if stored.to_str() != config.to_str():
            raise ValueError(Errors.SP190.format(folder=output))
    if done.exists():
        return False
    if last_checkpoint(checkpoints) is not None:
        finish_run(load_run(checkpoints, use_gpu=use_gpu), output)
    else:
        config.to_disk(output / CONFIG)
        train(init_nlp(config, use_gpu=use_gpu), output, use_gpu=use_gpu)
    # The last steps come after the last checkpoint.
    write_json(done, {"max_steps": config["training"]["max_steps"]})
    return True
