"""Learning from the predictions of an earlier model, so that it is not forgotten.

The earlier model, the teacher, says what is an entity of the labels that it knows. A
span that it scores is taken for an entity as often as its score says, so that on
average, every model learns the scores of the teacher, whatever its targets look like.
One draw alone is noise that makes a model forget, so each step learns from several.
"""

from dataclasses import replace
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..errors import Errors
from ..layers.head_work import HeadGold, HeadWork
from ..spans.missing import EVERY_LABEL, Marks
from ..spans.table import SpanTable
from ..spans.windows import WindowPlan
from .gold import DocGold, GoldReader, place_gold, read_gold
from .prediction import Doubt, Thresholds, predict_all
from .soft_labels import draw
from .state import MadeSettings
from .system import FreedMemory

# Spans with lower scores are no entities; they would make prediction slow.
LOWEST_SCORE = 0.01
# How often entities are drawn for each step. The head learns from all draws, but the
# documents are encoded once.
DRAWS = 3


class Teacher(NamedTuple):
    """A copy of a model, and the labels whose scores it computes, in order."""

    model: Model
    labels: Tuple[str, ...]

    def require_own_encoder(self, component: str) -> None:
        """RAISES (ValueError): SP254 if its encoder belongs to another component."""
        encoder = self.model.get_ref("tok2vec")
        for node in encoder.walk():
            name = getattr(node, "upstream_name", None)
            if isinstance(node, Tok2VecListener) or name is not None:
                message = Errors.SP254.format(component=component, encoder=name)
                raise ValueError(message)

    def find_spans(self, docs: Sequence[Doc], made: MadeSettings) -> List[SpanTable]:
        """RETURNS (List[SpanTable]): all spans of each document that it scores, with
        its own label ids.
        """
        plain = replace(made.settings, temperature=1.0, bias=0.0, overlap="any")
        lowest = np.full(len(self.labels), LOWEST_SCORE, dtype=np.float32)
        freed, doubt = FreedMemory(), Doubt(self.model.get_ref("output_layer").name)
        doubt.reported = True  # of many spans with low scores, the best are enough
        return list(
            predict_all(
                self.model,
                docs,
                MadeSettings(plain, made.codec),
                Thresholds(lowest),
                freed,
                doubt,
            )
        )


def lesson_of(pipe: Any, examples: Sequence[Example]) -> Tuple[HeadWork, HeadGold]:
    """Read what a component should learn to keep what it knows.

    pipe (SpanRecognizer): the component.
    RAISES (ValueError): SP253 without a teacher, SP254 if its encoder is shared.
    """
    teacher: Optional[Teacher] = pipe.teacher
    if teacher is None:
        raise ValueError(Errors.SP253.format(component=pipe.name))
    teacher.require_own_encoder(pipe.name)
    made = MadeSettings(pipe.settings, pipe.codec)
    lessons = read_lessons(
        teacher, examples, made, pipe.label_ids, pipe.gold_reader, pipe.rng
    )
    docs = [example.predicted for example in examples]
    return _joined([place_gold(docs, one, made, pipe.rng) for one in lessons])


def _joined(lessons: Sequence[Tuple[HeadWork, HeadGold]]) -> Tuple[HeadWork, HeadGold]:
    """RETURNS (Tuple[HeadWork, HeadGold]): the windows of all lessons about the same
    documents.
    """
    works, golds = zip(*lessons)
    plans: Any = zip(*(work.plan for work in works))
    plan = WindowPlan(*(np.concatenate(columns) for columns in plans))
    spans = [table for gold in golds for table in gold.spans]
    marks = [one for gold in golds for one in gold.marks]
    joined = golds[0]._replace(spans=spans, marks=marks, n_windows=plan.n_windows)
    return works[0]._replace(plan=plan), joined


def read_lessons(
    teacher: Teacher,
    examples: Sequence[Example],
    made: MadeSettings,
    label_ids: Dict[str, int],
    reader: GoldReader,
    rng: np.random.Generator,
) -> List[List[DocGold]]:
    """Join the predictions of a teacher with the annotation of other labels.

    examples (Sequence[Example]): documents, annotated or not; their annotation counts
        for labels that the teacher does not know.
    RETURNS (List[List[DocGold]]): for each draw and example. Nothing is known about
        other labels where the document is not annotated.
    """
    others = {name: i for name, i in label_ids.items() if name not in teacher.labels}
    found = teacher.find_spans([example.predicted for example in examples], made)
    known: List[Optional[DocGold]] = [None] * len(examples)
    if others:
        quiet = GoldReader(reader.component)
        quiet.ignore_unknown()
        known = read_gold(examples, made, others, quiet, rng)
    ids = np.asarray([label_ids.get(name, -1) for name in teacher.labels])
    taught = [spans._replace(label=ids[spans.label]) for spans in found]
    taught = [spans.take(spans.label >= 0) for spans in taught]
    annotated = [
        _annotated(example, gold, list(others.values()))
        for example, gold in zip(examples, known)
    ]
    return [
        [_with_draw(gold, spans, rng) for gold, spans in zip(annotated, taught)]
        for _ in range(DRAWS)
    ]


def _annotated(
    example: Example, gold: Optional[DocGold], labels: Sequence[int]
) -> DocGold:
    """RETURNS (DocGold): what is annotated about some labels.

    gold (Optional[DocGold]): None without annotation.
    """
    if gold is None:
        gold = DocGold(SpanTable.empty(), _unknown(example.predicted))
    return gold._replace(marks=Marks(*(_about(table, labels) for table in gold.marks)))


def _with_draw(gold: DocGold, taught: SpanTable, rng: np.random.Generator) -> DocGold:
    """RETURNS (DocGold): what is annotated, and a draw of what the teacher says."""
    drawn = taught.take(draw(taught.start, taught.end, taught.score, rng))
    drawn = drawn._replace(score=np.ones_like(drawn.score))
    # Annotation comes first: of two labels of a span, some models learn the first.
    return gold._replace(spans=gold.spans.join(drawn))


def _unknown(doc: Doc) -> Marks:
    """RETURNS (Marks): those of a document about which nothing is known."""
    everything = SpanTable.of([(0, len(doc), EVERY_LABEL, 1.0)][: len(doc)])
    return Marks(everything, SpanTable.empty())


def _about(table: SpanTable, labels: Sequence[int]) -> SpanTable:
    """RETURNS (SpanTable): marks of every label as marks of each of these labels."""
    rows = [
        (start, end, one, score)
        for start, end, label, score in table.rows()
        for one in (labels if label == EVERY_LABEL else [label])
    ]
    return SpanTable.of(rows)
