"""How much of a teacher's F1 a small student keeps, and how much faster it is.

python benchmarks/distill.py DATA --corpora genia,bc5cdr --seeds 0,1,2 --folder FOLDER

A part of the training sentences is annotated; the teacher reads the others without
their annotation. The teacher is `configs/ensemble_minilm.cfg`, tuned on dev; the
student is `configs/biaffine_cnn.cfg`. "alone" is the student's config on the annotated
sentences only, in as many steps. Thresholds and the best evaluation are chosen on dev.

Everything is kept in FOLDER, and what exists is not made again.
"""

from pathlib import Path
from statistics import mean
from typing import Any, Dict, Iterator, List, NamedTuple

import spacy
import typer
from common import SPANS_KEY
from corpora import CORPORA, draw
from measuring import clock, in_fresh_process, write_json
from options import DATA
from spacy.cli.train import train
from spacy.tokens import DocBin
from texts import bare
from wasabi import table

from spacy_spanner.evaluation.predicting import find_source, read_corpus
from spacy_spanner.evaluation.tables import mean_of_runs
from spacy_spanner.evaluation.tuning import tune
from spacy_spanner.files import read_json
from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.annotate.messages import Fields
from spacy_spanner.jobs.annotate.pool import run_here
from spacy_spanner.jobs.annotate.run import annotate_parts, prepared
from spacy_spanner.jobs.distilling import LOWEST, Student, reading_of, taught_by
from spacy_spanner.jobs.search.one_trial import scores_of

CONFIGS = Path(__file__).parents[1] / "configs"
TEACHER, STUDENT = CONFIGS / "ensemble_minilm.cfg", CONFIGS / "biaffine_cnn.cfg"
BEST, TUNED = "model-best", "tuned"
SYSTEMS = {"alone": BEST, "teacher": TUNED, "student": BEST}
LOOKS = 10


class Setting(NamedTuple):
    """Which sentences are annotated, and how long pipelines are trained.

    corpus (str): a key of `CORPORA`.
    share (float): annotated share of the training sentences.
    steps, teacher_steps (int): updates of students, and of the teacher.
    seed (int): of the sample and of all trainings.
    """

    corpus: str
    share: float
    steps: int
    teacher_steps: int
    seed: int

    def overrides(self, folder: Path, steps: int) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): settings of a training."""
        return {
            "nlp.lang": CORPORA[self.corpus].dataset.lang,
            "paths.train": str(folder / "annotated.spacy"),
            "paths.dev": str(folder / "dev.spacy"),
            "system.seed": self.seed,
            "training.max_steps": steps,
            "training.eval_frequency": steps // LOOKS,
        }


def write_parts(setting: Setting, data: Path, folder: Path) -> None:
    """Write the annotated sentences, the texts, and the other splits."""
    corpus = CORPORA[setting.corpus]
    nlp = spacy.blank(corpus.dataset.lang)
    docs = corpus.read(data, nlp, max_sentences=0)
    n_annotated = round(setting.share * len(docs["train"]))
    annotated = draw(docs["train"], n_annotated, seed=setting.seed)
    known = {id(doc) for doc in annotated}
    texts = [bare(doc) for doc in docs["train"] if id(doc) not in known]
    parts = {"annotated": annotated, "texts": texts, **docs}
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("annotated", "texts", "dev", "test"):
        DocBin(docs=parts[name], store_user_data=True).to_disk(folder / f"{name}.spacy")


def train_alone(setting: Setting, folder: Path) -> None:
    """Train the student's config without a teacher."""
    overrides = setting.overrides(folder, setting.steps)
    train(STUDENT, folder / "alone", overrides=overrides)


def train_teacher(setting: Setting, folder: Path) -> None:
    """Train and tune the teacher."""
    overrides = setting.overrides(folder, setting.teacher_steps)
    for part in ("encoder", "head"):
        name = f"training.optimizer.{part}"
        overrides[f"{name}.total_steps"] = setting.teacher_steps
        overrides[f"{name}.warmup_steps"] = setting.teacher_steps // 10
    overrides["training.eval_frequency"] = setting.teacher_steps // 2
    train(TEACHER, folder / "teacher", overrides=overrides)
    nlp = spacy.load(folder / "teacher" / BEST)
    tune(nlp, folder / "dev.spacy")
    nlp.to_disk(folder / "teacher" / TUNED)


def teach(setting: Setting, folder: Path) -> None:
    """Let the teacher read, and train the student."""
    teacher = SpanAnnotator(str(folder / "teacher" / TUNED), lowest=LOWEST)
    output = folder / "student"
    texts = [str(folder / "texts.spacy")]
    request = reading_of(teacher, texts, output, fields=Fields())
    with prepared(request) as run:
        for _ in annotate_parts(run, run_here):
            pass
    overrides = setting.overrides(folder, setting.steps)
    Student(STUDENT, overrides, output).train(taught_by(teacher))


def measure(path: Path, test: Path) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores on the test split, and words per second."""
    nlp = spacy.load(path)
    examples = read_corpus(test, nlp, SPANS_KEY)
    docs = [example.predicted.copy() for example in examples]
    start = clock()
    n_words = sum(len(doc) for doc in nlp.pipe(docs))
    speed = n_words / (clock() - start)
    scores = scores_of(nlp, examples, find_source(nlp).key)
    return {**{name: scores[name] for name in ("p", "r", "f", "ece")}, "speed": speed}


def run(setting: Setting, data: Path, folder: Path) -> Iterator[Dict[str, Any]]:
    """YIELDS (Dict[str, Any]): the scores of each system."""
    if not (folder / "test.spacy").exists():
        write_parts(setting, data, folder)
    makers = {"alone": train_alone, "teacher": train_teacher, "student": teach}
    for system, make in makers.items():
        path = folder / f"{system}.json"
        if not path.exists():
            in_fresh_process(make, setting, folder)
            trained = folder / system / SYSTEMS[system]
            found = in_fresh_process(measure, trained, folder / "test.spacy")
            write_json(path, {**setting._asdict(), "system": system, **found})
        yield read_json(path)["results"]


def main(
    data: Path = DATA,
    corpora: str = typer.Option("genia,bc5cdr", help="Comma-separated corpora"),
    share: float = typer.Option(0.25, help="Annotated share of training sentences"),
    steps: int = typer.Option(1500, help="Updates of a student"),
    teacher_steps: int = typer.Option(500, help="Updates of the teacher"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    folder: Path = typer.Option(..., help="Folder for everything"),
) -> None:
    """Print a row for each corpus and system."""
    rows: List[Dict[str, Any]] = []
    for corpus in corpora.split(","):
        for seed in map(int, seeds.split(",")):
            setting = Setting(corpus, share, steps, teacher_steps, seed)
            name = f"{corpus}-{share}-{steps}-{teacher_steps}-{seed}"
            for row in run(setting, data, folder / name):
                print({name: row[name] for name in ("corpus", "seed", "system", "f")})
                rows.append(row)
    header = ("corpus", "system", "P", "R", "F1", "ECE", "words/s", "of the gain")
    print(table(list(lines(rows)), header=header, divider=True))


def lines(rows: List[Dict[str, Any]]) -> Iterator[List[str]]:
    """YIELDS (List[str]): means over the seeds."""
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        level = {}
        for system in SYSTEMS:
            own = (corpus, system)
            found = [row for row in rows if (row["corpus"], row["system"]) == own]
            level[system] = mean(row["f"] for row in found)
            cells = [mean_of_runs([row[name] for row in found]) for name in "prf"]
            gain = level[system] - level["alone"]
            whole = level.get("teacher", level["alone"]) - level["alone"]
            share = f"{gain / whole:.2f}" if whole else "0"
            errors = [row["ece"] for row in found if row["ece"] is not None]
            ece = f"{100 * mean(errors):.1f}" if errors else "-"
            speed = f"{mean(row['speed'] for row in found):,.0f}"
            yield [corpus, system, *cells, ece, speed, share]


if __name__ == "__main__":
    typer.run(main)
