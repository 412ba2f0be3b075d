"""Targets, loss and candidates of the denoiser (Shen et al. 2023).

In training, gold spans are repeated and moved by noise of a random strength, and the
module learns to restore them. In prediction, pure noise is denoised in steps.
"""

from dataclasses import dataclass
from typing import Dict, Optional, Sequence, Tuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from ...settings import (
    above_0,
    at_least,
    not_negative,
    one_of,
    optional,
    probability,
    setting,
)
from ...spans.overlap import repeats
from ...spans.table import Bools, Ints, SpanTable
from ..blocks.constants import constant
from ..blocks.divergence import Scored
from ..blocks.padded_rows import GoldTensors, to_device
from ..codec import Pass, SpanCodec, WindowBatch
from ..scored_spans import Candidates, best_labels, join
from .loss import (
    PADDED,
    boundary_distances,
    boundary_loss,
    class_loss,
    match,
    matched_classes,
    matching_costs,
    pointer_scores,
    taught_spans,
)
from .module import DiffusionModule
from .noise import (
    NOISE_ON,
    SCHEDULES,
    Signal,
    TokenSpans,
    join_spans,
    noise_of_training,
)
from .proposals import (
    BOUNDARY_CHOICES,
    POINTER_LOSSES,
    SCORES,
    Proposals,
    class_probabilities,
    in_order,
    propose,
    score_steps,
    without_repeats,
)
from .sampling import sample, signal_table, timesteps
from .targets import EXPANSIONS, DiffusionTargets, make_targets, warn_of_few_spans
from .tokens import Moments, TokenMemory

# Spans that are denoised at once in prediction, so that memory does not grow with the
# batch, and the tensors of a step fit into the processor's caches.
SPANS_AT_ONCE = 4096

CPU = torch.device("cpu")
REPORTS = ("all", "last")


@dataclass(frozen=True)
class DiffusionCodec(SpanCodec):
    """Settings of the denoiser.

    steps (int): γ, denoising steps in prediction. Like the next two, it may be changed
        at any time, without training again.
    spans (int): K in prediction: noisy spans of each window, which is also the largest
        number of entities that a step can find in it.
    eta (float): η, how much of the noise is renewed between two steps, from 0 to 1. All
        noise comes from `seed`.
    train_spans (int): K in training.
    draws (int): in training, how many timesteps are drawn for each window; the encoder
        runs once for all. Memory grows with it.
    timesteps (int): T, the length of the diffusion.
    schedule (str): how fast noise increases: "cosine" or "linear".
    scale (float): λ, boundaries are numbers in [-λ, λ]; more means less noise.
    noise_on (str): what noise is added to: the left boundary and the "width" of spans,
        as in the authors' code, or both "boundaries", as in the paper.
    expansion (str): how gold is filled up to K spans: "repeat" it, or add "random"
        spans, or "gaussian" ones, whose numbers are drawn as those of the noise.
    repeats (Optional[int]): largest number of proposals that learn from one gold span;
        1 as in the paper, where the others learn "no entity"; no limit if None, as in
        the authors' code.
    distance_cost (float): cost in matching of each token between the boundaries of a
        noisy and a gold span; a boundary with probability 1 costs -1.
    no_entity_weight (float): weight of "no entity" in the loss of the classifier.
    pointer_loss (str): "softmax" over the tokens, or as in the paper "sigmoid".
    boundary_choice (str): the boundaries of a denoised span: the best "pair" in the
        right order, or as in the paper the best of "each" pointer. Spans that then end
        before they start are dropped; a classifier of denoised spans reads them as one
        token.
    report (str): which denoised spans are candidates: those of "all" steps, or as in
        the paper those of the "last" one.
    score (str): how spans are scored: by the probability of their "class", or by the
        "mean" of that and the probabilities of their boundaries, as in the paper.
    seed (int): seed of the noise in prediction, and of the sampling in training.
    """

    steps: int = setting(5, at_least(1))
    spans: int = setting(60, at_least(1))
    eta: float = setting(1.0, probability)
    train_spans: int = setting(60, at_least(1))
    draws: int = setting(1, at_least(1))
    timesteps: int = setting(1000, at_least(1))
    schedule: str = setting("cosine", one_of(SCHEDULES))
    scale: float = setting(1.0, above_0)
    noise_on: str = setting("width", one_of(NOISE_ON))
    expansion: str = setting("repeat", one_of(EXPANSIONS))
    repeats: Optional[int] = setting(8, optional(at_least(1)))
    distance_cost: float = setting(0.1, not_negative)
    no_entity_weight: float = setting(1.0, not_negative)
    pointer_loss: str = setting("softmax", one_of(POINTER_LOSSES))
    boundary_choice: str = setting("pair", one_of(BOUNDARY_CHOICES))
    report: str = setting("all", one_of(REPORTS))
    score: str = setting("class", one_of(SCORES))
    seed: int = setting(0, at_least(0))

    @property
    def signal(self) -> Signal:
        """How spans become numbers."""
        return Signal(self.scale, self.noise_on)

    def lost(self, spans: SpanTable) -> Dict[str, Bools]:
        """RETURNS (Dict[str, Bools]): second labels of spans."""
        return {"with the same boundaries as another span": repeats(spans)}

    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, *, rng: np.random.Generator
    ) -> DiffusionTargets:
        """Draw timesteps, and noise to add to the gold.

        rng (Generator): source of timesteps, noise, and of all random spans.
        RETURNS (DiffusionTargets): windows × draws rows.
        """
        gold = [self.learnable(spans) for spans in gold]
        warn_of_few_spans(gold, self.spans)
        return make_targets(
            gold,
            lengths,
            n_spans=self.train_spans,
            n_draws=self.draws,
            n_steps=self.timesteps,
            expansion=self.expansion,
            rng=rng,
        )

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: DiffusionTargets
    ) -> Tensor:
        """RETURNS (Tensor): the loss of boundaries and classes, summed over spans."""
        return self.learn_pass(module, batch, targets).loss

    def learn_pass(
        self,
        module: nn.Module,
        batch: WindowBatch,
        targets: DiffusionTargets,
        earlier: Optional[Pass] = None,
    ) -> Pass:
        """RETURNS (Pass): the loss, the scores of the boundaries of matched proposals,
        and those of the spans that the earlier pass classified, which this one
        classifies, too.
        """
        module = cast(DiffusionModule, module)
        share = constant(signal_table, self.schedule, self.timesteps, device=CPU)
        share_now = share.numpy()[targets.time]
        grid = targets.gold
        known = grid.start, grid.last, grid.label, grid.mask, targets.time
        columns = (*known, *targets[2:6], share_now)
        placed = to_device(columns, batch.vectors.device)
        gold, time = GoldTensors(*placed[:4]), placed[4]
        lengths = batch.sizes.repeat_interleave(self.draws)
        replaces = self.expansion == "gaussian"
        noisy = noise_of_training(self.signal, placed[5:], lengths, replaces)
        memory = module.encode(batch).repeat(self.draws)
        proposals = self._denoise(module, memory, noisy, module.moments(memory, time))
        spans = proposals.ordered
        if module.reads_denoised:
            spans, target = taught_spans(spans, noisy, gold)
            spans, target = (spans, target) if earlier is None else earlier.chosen
            matched = self._match(noisy, proposals, None, gold, targets.taught)
            classes = module.classify(memory, proposals.state, spans)
        else:
            classes = module.classify(memory, proposals.state, noisy)
            matched = self._match(noisy, proposals, classes, gold, targets.taught)
            target = matched_classes(matched, gold)
        loss = boundary_loss(proposals, matched, gold, memory.mask)
        window = torch.arange(len(time), device=time.device)[:, None] // self.draws
        missing = batch.missing_at(window, *spans)
        loss = loss + class_loss(classes, target, self.no_entity_weight, missing)
        scored = [
            *pointer_scores(proposals, matched, 1 / self.draws),
            Scored(classes, (target != PADDED) / self.draws),
        ]
        return Pass(loss / self.draws, scored, (spans, target))

    def _denoise(
        self,
        module: DiffusionModule,
        memory: TokenMemory,
        noisy: TokenSpans,
        moments: Moments,
    ) -> Proposals:
        """RETURNS (Proposals): where the noisy spans should be."""
        found = module(memory, noisy, moments)
        kind, choice = self.pointer_loss, self.boundary_choice
        return propose(found.start, found.last, kind, found.state, choice)

    def _match(
        self,
        noisy: TokenSpans,
        proposals: Proposals,
        classes: Optional[Tensor],
        gold: GoldTensors,
        taught: Bools,
    ) -> Tensor:
        """Match proposals with gold by -(P^l + P^r + P^c), and by how near they were.

        classes (Optional[Tensor]): scores of the classes, if the proposals have them.
        RETURNS (Tensor): gold span of each proposal, or `NOBODY`. (batch, span)
        """
        costs = matching_costs(proposals, classes, gold)
        costs += self.distance_cost * boundary_distances(noisy, gold)
        # The costs of the whole batch are copied to the host at once.
        matched = match(costs.cpu().numpy(), taught, self.repeats)
        return torch.as_tensor(matched, device=gold.start.device)

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """Denoise pure noise in `steps` steps, and report spans as `report` says.

        thresholds (Tensor): (label,)
        RETURNS (Candidates): of each span its best label, at or above its threshold.
        """
        module = cast(DiffusionModule, module)
        memory = module.encode(batch)
        lengths = batch.sizes
        n_windows = max(1, SPANS_AT_ONCE // self.spans)
        found = []
        for first in range(0, len(lengths), n_windows):
            part = slice(first, first + n_windows)
            sampled = self._sample(module, memory.take(part), lengths[part])
            spans, scores, chosen = sampled
            scores = scores.where(chosen[:, :, None], -1.0)  # below all thresholds
            place, label = best_labels(scores.flatten(0, 1), thresholds)
            window, span = place // scores.shape[1], place % scores.shape[1]
            start, last = spans.start[window, span], spans.last[window, span]
            score = scores[window, span, label]
            found.append(Candidates(window + first, start, last + 1, label, score))
        return join(found)

    def _sample(
        self, module: DiffusionModule, memory: TokenMemory, lengths: Tensor
    ) -> Tuple[TokenSpans, Tensor, Tensor]:
        """Run the denoising steps.

        lengths (Tensor): tokens of the windows. Shape: (batch,)
        RETURNS (Tuple[TokenSpans, Tensor, Tensor]): denoised spans of all steps, the
            scores of their labels, and which of the spans are to be reported. Shapes:
            (batch, span), (batch, span, label), (batch, span)
        """
        time = constant(timesteps, self.timesteps, self.steps, device=lengths.device)
        moments = module.moments(memory, time)
        found = sample(
            lambda noisy, step: self._denoise(module, memory, noisy, moments.at(step)),
            lengths,
            n_spans=self.spans,
            n_samples=self.steps,
            n_steps=self.timesteps,
            schedule=self.schedule,
            signal=self.signal,
            eta=self.eta,
            seed=self.seed,
        )
        if self.report == "last":
            found = iter(list(found)[-1:])
        if module.reads_denoised and self.score == "class":
            # The score of a span does not depend on the noise that it came from, so
            # each is classified once.
            spans = in_order(join_spans(*(proposals.spans for proposals in found)))
            spans, distinct = without_repeats(spans, memory.mask.shape[1])
            classes = module.classify(memory, None, spans)
            return spans, class_probabilities(classes), distinct
        steps = [
            (one, module.classify(memory, one.state, one.ordered)) for one in found
        ]
        return score_steps(steps, self.score, memory.mask.shape[1])
