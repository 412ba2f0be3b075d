"""Targets, loss and candidates of the two-stage identifier (Shen et al. 2021).

Seed spans of some sizes are filtered, the boundaries of what is left are regressed, and
the adjusted spans are classified. Greek letters are those of the paper.
"""

import logging
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Sequence, cast

import numpy as np
from torch import Tensor, nn

from ...settings import (
    at_least,
    not_negative,
    one_of,
    optional,
    probability,
    setting,
    whole_numbers,
    yes_or_no,
)
from ...spans.layouts import pad_gold
from ...spans.overlap import first_labels, repeats
from ...spans.table import Bools, Floats, Ints, SpanTable
from ..blocks.cell_losses import focal_cross_entropy
from ..blocks.cells import span_columns
from ..blocks.divergence import Scored, yes_or_no_scores
from ..blocks.padded_rows import rows_of, to_device
from ..codec import Pass, SpanCodec, WindowBatch
from ..scored_spans import (
    DECISIONS,
    NO_SPAN,
    Candidates,
    best_labels,
    best_or_none,
    only_best_class,
)
from .assignment import (
    SeedTargets,
    add_gold,
    assign,
    choose_negatives,
    count_seeds,
    enumerate_seeds,
    missed_gold,
    with_nearest,
)
from .boundaries import adjust, distinct_or_marked
from .losses import class_targets, filter_loss, offset_loss, place_examples
from .module import LocateLabelModule, SpanReader, Spans
from .soft_nms import queued_soft_nms, soft_nms

# spaCy's own; this file may not import spaCy.
LOGGER = logging.getLogger("spacy")

DEFAULT_SIZES = [1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15]


class Located(NamedTuple):
    """The output of the first stage.

    kept (Spans): the seeds that pass the filter.
    adjusted (Spans): the same seeds with regressed boundaries.
    """

    kept: Spans
    adjusted: Spans


@dataclass(frozen=True)
class LocateLabelCodec(SpanCodec):
    """Settings of the two-stage identifier.

    window_sizes (List[int]): widths of the seed spans in training, in tokens.
    all_seeds (bool): whether all spans are seeds in prediction, up to `max_seed`;
        otherwise those of `window_sizes`, as in the paper.
    max_seed (Optional[int]): the most tokens of a seed in prediction; the largest of
        `window_sizes` if None. No effect without `all_seeds`.
    use_filter (bool): whether a filter drops seeds that are unlikely to be entities.
    use_regressor (bool): whether the boundaries of seeds are adjusted.
    filter_threshold (float): the lowest probability at which seeds pass the filter.
    seed_iou (float): α1, the intersection over union with a gold span from which a seed
        is a positive example.
    entity_iou (float): α2, the same for an adjusted span in classification.
    soft_examples (float): η, how much less unclear examples weigh; 0 for equal weights.
    negatives (Optional[int]): negative seeds in training for each positive one; all if
        None.
    nearest_seeds (bool): whether the seeds that fit an entity best are positive
        examples, too, if none fits well enough; the paper has no such rule.
    extra_negatives (int): further negative seeds in each window; no effect if all are
        taken.
    filter_focus (float): γ of the filter's focal loss; 0 gives cross entropy.
    class_focus (float): the same for the classifier.
    filter_weight, regressor_weight, class_weight (float): λ1, λ2, λ3 of the losses.
    weigh_offsets (bool): whether `soft_examples` also weighs the loss of the regressor;
        the paper's Equations 14 and 15 have no weights.
    filter_in_training (bool): whether seeds that the filter drops are left out of
        regression and classification in training, too; in the paper, all are learned.
    learn_once (bool): whether seeds that are adjusted to the same span are classified
        once in training; in the paper, once for each seed.
    decision (str): "threshold" (labels that reach the threshold) or "argmax" (as in the
        paper, only the most probable class of a span; if it reaches the threshold).
    soft_nms (bool): whether the scores of spans that nearly repeat a better one are
        lowered.
    nms_iou (float): k, the lowest intersection over union of such spans.
    nms_decay (float): u, the factor for each better neighbour.
    nms_queue (bool): whether spans are visited by their lowered scores, as in the
        paper's Algorithm 1; otherwise by their first scores.
    """

    window_sizes: List[int] = setting(DEFAULT_SIZES, whole_numbers)
    all_seeds: bool = setting(True, yes_or_no)
    max_seed: Optional[int] = setting(None, optional(at_least(1)))
    use_filter: bool = setting(True, yes_or_no)
    use_regressor: bool = setting(True, yes_or_no)
    filter_threshold: float = setting(0.17, probability)
    seed_iou: float = setting(0.7, probability)
    entity_iou: float = setting(1.0, probability)
    soft_examples: float = setting(0.0, not_negative)
    negatives: Optional[int] = setting(None, optional(at_least(0)))
    nearest_seeds: bool = setting(True, yes_or_no)
    extra_negatives: int = setting(2, at_least(0))
    filter_focus: float = setting(2.0, not_negative)
    class_focus: float = setting(0.0, not_negative)
    filter_weight: float = setting(1.0, not_negative)
    regressor_weight: float = setting(0.1, not_negative)
    class_weight: float = setting(1.0, not_negative)
    weigh_offsets: bool = setting(True, yes_or_no)
    filter_in_training: bool = setting(True, yes_or_no)
    learn_once: bool = setting(True, yes_or_no)
    decision: str = setting("threshold", one_of(DECISIONS))
    soft_nms: bool = setting(True, yes_or_no)
    nms_iou: float = setting(0.6, probability)
    nms_decay: float = setting(0.9, probability)
    nms_queue: bool = setting(False, yes_or_no)

    @property
    def largest_seed(self) -> int:
        """The widest seed in prediction, in tokens."""
        largest = max(self.window_sizes)
        return self.max_seed if self.max_seed and self.all_seeds else largest

    @property
    def _needed_iou(self) -> float:
        """How well a seed must fit an entity to be classified as it. Without a
        regressor, boundaries stay as they are.
        """
        return max(self.seed_iou, 0.0 if self.use_regressor else self.entity_iou)

    def lost(self, spans: SpanTable) -> Dict[str, Bools]:
        """RETURNS (Dict[str, Bools]): spans that no seed reaches, and second labels."""
        width, largest = spans.end - spans.start, self.largest_seed
        reason = f"longer than the largest seed of {largest} tokens (raise max_seed"
        is_seed = width <= largest
        if not self.all_seeds:
            reason = "of a length that is not in window_sizes (add it"
            is_seed = np.isin(width, self.window_sizes)
        return {
            f"{reason}, or set use_regressor = true)": ~(is_seed | self.use_regressor),
            "with the same boundaries as another span": repeats(spans),
        }

    def cells(
        self, module: nn.Module, n_labels: int, n_tokens: int, *, in_training: bool
    ) -> int:
        """RETURNS (int): what the tokens and the seeds of a padded window count as."""
        sizes: Sequence[int] = self.window_sizes
        if self.all_seeds and not in_training:
            sizes = range(1, min(self.largest_seed, n_tokens) + 1)
        n_seeds = count_seeds(n_tokens, sizes)
        own = cast(LocateLabelModule, module)
        return own.cells(n_tokens, n_seeds, in_training=in_training)

    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, *, rng: np.random.Generator
    ) -> SeedTargets:
        """Pair seeds with gold, add the gold that none hits, and draw negatives.

        gold (Sequence[SpanTable]): spans of each window.
        lengths (Ints): tokens per window. Shape: (batch,)
        RETURNS (SeedTargets): the seeds to learn from.
        """
        seeds = enumerate_seeds(lengths, self.window_sizes)
        paired = assign(seeds, pad_gold(list(map(first_labels, gold))), self.seed_iou)
        missed = missed_gold(paired, self._needed_iou)
        if self.use_regressor and self.nearest_seeds:
            paired = with_nearest(paired, missed)
        paired = add_gold(paired, missed)
        negative = choose_negatives(
            paired, per_positive=self.negatives, extra=self.extra_negatives, rng=rng
        )
        return paired.take(paired.positive | negative)

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: SeedTargets
    ) -> Tensor:
        """Add up the losses of filter, regressor and classifier over seeds.

        As in prediction, seeds that the filter drops go no further; positives do. With
        `filter_in_training = false`, all do.

        RETURNS (Tensor): the weighted sum, a scalar.
        """
        return self.learn_pass(module, batch, targets).loss

    def learn_pass(
        self,
        module: nn.Module,
        batch: WindowBatch,
        targets: SeedTargets,
        earlier: Optional[Pass] = None,
    ) -> Pass:
        """RETURNS (Pass): the loss, the scores of the filter, and those of the spans
        that the earlier pass classified, which this one classifies, too.
        """
        reader: SpanReader = module(batch)
        eta = self.soft_examples
        gold, examples = place_examples(targets, reader.lengths.device, eta)
        loss, scored = reader.vectors.new_zeros(()), []
        if self.use_filter:
            logits = reader.filter(examples.spans)
            loss += self.filter_weight * filter_loss(
                logits, examples, batch, self.filter_focus
            )
            weight = self.filter_weight * examples.weight
            scored.append(yes_or_no_scores(logits, weight))
            if self.filter_in_training:
                passing = logits.sigmoid() >= self.filter_threshold
                examples = examples.take(rows_of(passing | examples.positive))
        spans, is_first = examples.spans, None
        if self.use_regressor:
            offsets = reader.regress(spans)
            loss += self.regressor_weight * offset_loss(
                examples, offsets, weigh=self.weigh_offsets
            )
            spans = adjust(spans, offsets.detach(), reader.lengths)
            if self.learn_once:
                # As in prediction. If a span counted once for each seed that moves to
                # it, entities would seem more frequent than they are.
                spans, is_first = distinct_or_marked(spans, batch.vectors.shape[1])
        if earlier is not None:
            spans, is_first = earlier.chosen
        classes = reader.classify(spans)
        target, weight = class_targets(spans, gold, self.entity_iou, eta)
        weight = weight if is_first is None else weight * is_first
        loss += self.class_weight * focal_cross_entropy(
            classes, target, weight, self.class_focus, batch.missing_at(*spans)
        )
        scored.append(Scored(classes, self.class_weight * weight))
        return Pass(loss, scored, (spans, is_first))

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """Locate spans, and report the best label of each at or above its threshold.

        thresholds (Tensor): (label,)
        RETURNS (Candidates): distinct spans of the batch.
        """
        reader: SpanReader = module(batch)
        located = self.locate(reader, self._seeds_of_prediction(batch))
        # Seeds adjusted to the same span have the same scores: classify it once.
        n_tokens = batch.vectors.shape[1]
        spans, is_first = distinct_or_marked(located.adjusted, n_tokens)
        classes = reader.classify(spans).softmax(dim=-1)
        scores = only_best_class(classes, self.decision)[:, 1:]
        if is_first is None:
            return Candidates.at(spans, *best_labels(scores, thresholds), scores)
        label, score = best_or_none(scores, thresholds)
        score = score.where(is_first, NO_SPAN)
        return Candidates(spans.window, spans.start, spans.last + 1, label, score)

    def _seeds_of_prediction(self, batch: WindowBatch) -> Spans:
        if self.all_seeds:
            return Spans(*span_columns(batch, self.largest_seed))
        cells = enumerate_seeds(batch.lengths, self.window_sizes)
        return Spans(*to_device(cells, batch.vectors.device))

    def locate(self, reader: SpanReader, seeds: Spans) -> Located:
        """Filter the seeds, and adjust the boundaries of those that are kept."""
        kept = seeds
        if self.use_filter:
            passing = reader.filter(seeds).sigmoid() >= self.filter_threshold
            kept = seeds.take(rows_of(passing))
        n_seeds, n_kept = len(seeds.window), len(kept.window)
        LOGGER.debug("The filter kept %s of %s seeds.", n_kept, n_seeds)
        if not self.use_regressor:
            return Located(kept, kept)
        offsets = reader.regress(kept)
        return Located(kept, adjust(kept, offsets, reader.lengths))

    def rescore(self, spans: SpanTable, window: Ints) -> Floats:
        """RETURNS (Floats): scores after Soft-NMS. (span,)"""
        if not self.soft_nms:
            return spans.score
        lower = queued_soft_nms if self.nms_queue else soft_nms
        return lower(spans, window, threshold=self.nms_iou, decay=self.nms_decay)
