"""Small training runs from a config: whole, stopped on the way, and resumed."""

import io
import random
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import spacy
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, registry
from thinc.api import Config

from spacy_spanner.jobs.run.resuming import finish_run, load_run
from spacy_spanner.training.frozen import set_frozen

from .helpers import DATA, SMALL_ENCODER, annotate

CONFIG = Path(__file__).parents[1] / "configs" / "biaffine_cnn.cfg"
NAME = "span_biaffine"
EVAL_FREQUENCY = 3

# Batches of two documents, whose results the tests can read.
SMALL_BATCHES = """
[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 2
get_length = null

[training.logger]
@loggers = "test.rows.v1"
"""
# Text of a config, on top of which a test puts its own.
BASE = f"""
[components.span_biaffine]
threshold = 0.05

[training]
dropout = 0.2
max_steps = 13
eval_frequency = {EVAL_FREQUENCY}
annotating_components = ["sentencizer"]

{SMALL_BATCHES}
[training.optimizer]
@optimizers = "spacy_spanner.AdamW.v1"
encoder = 0.05
head = 0.05
weight_decay = 0.1
"""

STOP = """stop]
@callbacks = "test.stop.v1"
"""
STORE = """store]
@callbacks = "spacy_spanner.checkpoint.v1"
path = "{folder}"
every = {every}
"""

rows: List[Dict[str, Any]] = []
stop: Dict[str, Optional[int]] = {"at": None}


class StoppedError(Exception):
    """Stands for whatever ends a run too early."""


@registry.loggers("test.rows.v1")
def make_row_logger() -> Callable:
    def set_up(nlp: Language, stdout: Any, stderr: Any) -> Any:
        def log(info: Optional[Dict[str, Any]]) -> None:
            if info is not None:
                own = ("seconds", "output_path")
                row = {key: value for key, value in info.items() if key not in own}
                scores = {**info["other_scores"], "speed": None}
                results = list(info["checkpoints"])
                rows.append({**row, "other_scores": scores, "checkpoints": results})

        return log, lambda: None

    return set_up


@registry.callbacks("test.stop.v1")
def make_stop() -> Callable:
    def stop_here(nlp: Language, info: Dict[str, Any]) -> None:
        if info["step"] == stop["at"]:
            raise StoppedError

    return stop_here


@registry.callbacks("test.freeze_at.v1")
def make_freeze_at(step: int) -> Callable:
    """Freeze once and for good, as a user's own callback may."""

    def freeze(nlp: Language, info: Dict[str, Any]) -> None:
        if info["step"] == step:
            set_frozen(nlp.get_pipe(NAME), "encoder", True)

    return freeze


@registry.callbacks("test.draw.v1")
def make_draw() -> Callable:
    """Draw from the numbers that also shuffle the data."""

    def draw(nlp: Language, info: Dict[str, Any]) -> None:
        random.random()

    return draw


def write_corpus(path: Path, times: int = 2) -> Path:
    nlp = spacy.blank("xx")
    texts = [*DATA["nested"][:3], *DATA["crossing"]] * times
    docs = [annotate(nlp.make_doc(text), spans) for text, spans in texts]
    DocBin(docs=docs).to_disk(path)
    return path


def callbacks(*blocks: str) -> str:
    """Write the callbacks of a run that may be stopped."""
    top = '[training.before_update]\n@callbacks = "spacy_spanner.callbacks.v1"'
    names = (f"[training.before_update.callbacks.{block}" for block in (*blocks, STOP))
    return "\n\n".join([top, *names])


def stored_in(folder: Path, every: int = 1) -> str:
    """Write the callback that stores a run."""
    return STORE.format(folder=folder, every=every)


def settings(**values: Any) -> str:
    lines = [f"{name} = {value}" for name, value in values.items()]
    return "\n".join(["[training]", *lines])


def make_config(corpus: Path, *texts: str) -> Config:
    config = load_config(CONFIG, overrides={"paths.train": str(corpus)})
    config["paths"]["dev"] = str(corpus)
    config["nlp"]["lang"] = "xx"  # its tokenizer loads faster
    model = config["components"][NAME]["model"]
    model["tok2vec"] = dict(SMALL_ENCODER)
    model.update(lstm_width=16, hidden_width=16)
    for text in (BASE, *texts):
        config = config.merge(parse_part(text))
    return config


def parse_part(text: str) -> Config:
    """Read some blocks of a config, without those around them."""
    names = re.findall(r"^\[(.+)\]$", text, flags=re.MULTILINE)
    around = {name[: dot.start()] for name in names for dot in re.finditer(r"\.", name)}
    blocks = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    blocks += [f"[{name}]\n" for name in around - set(names)]
    blocks.sort(key=lambda block: block.split("]")[0].count("."))  # outer ones first
    return Config().from_str("\n".join(blocks), interpolate=False)


class Outcome(NamedTuple):
    rows: List[Dict[str, Any]]
    folder: Path

    @property
    def last(self) -> Path:
        return self.folder / "model-last"

    @property
    def best(self) -> Path:
        return self.folder / "model-best"


@contextmanager
def stopping(at: Optional[int]) -> Iterator[None]:
    """Stop a run at a step, and no run that comes after it."""
    stop["at"] = at
    try:
        yield
    except StoppedError:
        assert at is not None
    finally:
        stop["at"] = None


def run(config: Config, output: Path, stop_at: Optional[int] = None) -> Outcome:
    """Train as `spacy train` does, perhaps not to the end."""
    rows.clear()
    output.mkdir(exist_ok=True)
    nlp = init_nlp(config)
    with stopping(stop_at):
        train(nlp, output, stdout=io.StringIO(), stderr=io.StringIO())
        assert stop_at is None
    return Outcome(list(rows), output)


def resume(
    folder: Path, output: Path, stop_at: Optional[int] = None, **overrides: Any
) -> Outcome:
    """Go on after something else has used all random numbers."""
    rows.clear()
    random.seed(99)
    with stopping(stop_at):
        finish_run(load_run(folder, overrides=overrides), output)
    return Outcome(list(rows), output)


def stored_steps(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "out")


def copy_of_run(folder: Path, tmp_path: Path) -> Path:
    target = tmp_path / "run"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("out"))
    return target


def assert_same_weights(one: Path, other: Path) -> None:
    """Compare what two pipelines have stored, to the last bit."""
    files = sorted(path.relative_to(one) for path in one.rglob("model"))
    assert files == sorted(path.relative_to(other) for path in other.rglob("model"))
    assert files
    assert all((one / f).read_bytes() == (other / f).read_bytes() for f in files)
