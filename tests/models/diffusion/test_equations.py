"""The paper's equations, written out with loops, against the settings for them."""

import math
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.diffusion.codec import DiffusionCodec
from spacy_spanner.models.diffusion.module import (
    SINUSOIDS,
    DiffusionModule,
    DiffusionSettings,
)
from spacy_spanner.models.diffusion.noise import (
    Signal,
    TokenSpans,
    add_noise,
    noise_of_training,
    sampling_times,
    signal_shares,
)
from spacy_spanner.models.diffusion.proposals import Proposals, label_scores, propose
from spacy_spanner.models.diffusion.sampling import fixed_noise, sample, signal_table
from spacy_spanner.models.diffusion.targets import expand
from spacy_spanner.spans.layouts import pad_gold
from spacy_spanner.spans.table import SpanTable

WIDTH, TOKEN, LABEL, SPAN = 6, 5, 2, 3
PAPER_MODULE: Dict[str, Any] = {
    "lstm_width": 4,
    "lstm_layers": 2,
    "hidden_width": 8,
    "ffn_width": 10,
    "n_heads": 2,
    "self_attention": True,
    "pooling": "mean",
    "pointer": "mlp",
    "classifier": "noisy",
    "timestep": "output",
    "distance_bias": False,
    "width_embedding": False,
    "position_embedding": True,
    "dropout": 0.0,
    "input_dropout": 0.0,
}
PAPER: Dict[str, Any] = {
    "eta": 0.0,
    "train_spans": 6,
    "spans": 6,
    "timesteps": 20,
    "noise_on": "boundaries",
    "expansion": "gaussian",
    "repeats": 1,
    "distance_cost": 0.0,
    "pointer_loss": "sigmoid",
    "boundary_choice": "each",
    "report": "last",
    "score": "mean",
}


def paper_module() -> DiffusionModule:
    torch.manual_seed(0)
    module = DiffusionModule(WIDTH, LABEL, DiffusionSettings(**PAPER_MODULE))
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


def batch_of(length: int = TOKEN) -> WindowBatch:
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(1, length, WIDTH, generator=generator)
    return WindowBatch(vectors, np.asarray([length]))


# ------------------------------------------------------------ forward diffusion


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_section_4_1_share_of_the_signal_is_the_product_of_one_minus_beta(
    schedule: str,
) -> None:
    steps, product, expected = 50, 1.0, []
    for step in range(steps):
        if schedule == "linear":
            first, last = 1e-4 * 1000 / steps, 0.02 * 1000 / steps
            beta = first + (last - first) * step / (steps - 1)
        else:
            now, then = (
                math.cos((at / steps + 0.008) / 1.008 * math.pi / 2) ** 2
                for at in (step, step + 1)
            )
            beta = 1 - then / now
        product *= 1 - min(beta, 0.999)
        expected.append(product)
    found = signal_shares(schedule, steps).tolist()
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_section_4_1_noise_is_added_to_both_boundaries() -> None:
    start, last, lengths = torch.tensor([[1, 0]]), torch.tensor([[3, 0]]), 5
    noise = torch.tensor([[[0.5, -0.5], [0.0, 1.0]]])
    share = 0.64
    signal = Signal(1.0, "boundaries")
    clean = signal.of_tokens(start, last, torch.tensor([lengths]))
    found = add_noise(clean, noise, torch.tensor([share]))
    for span in range(2):
        for side, boundary in enumerate((start, last)):
            x_0 = 2 * int(boundary[0, span]) / (lengths - 1) - 1
            x_t = math.sqrt(share) * x_0 + math.sqrt(1 - share) * noise[0, span, side]
            assert float(found[0, span, side]) == pytest.approx(float(x_t))


def test_section_4_1_gaussian_expansion_has_gold_once_and_gaussian_numbers() -> None:
    rows, lengths = [(0, 2, 0), (3, 4, 1)], np.asarray([9])
    gold = pad_gold([SpanTable.of(rows)])
    clean = expand(
        gold, lengths, n_spans=50, expansion="gaussian", rng=np.random.default_rng(0)
    )
    kept = [
        (int(start), int(last) + 1)
        for start, last in zip(clean.start[clean.is_gold], clean.last[clean.is_gold])
    ]
    assert sorted(kept) == [(0, 2), (3, 4)]
    codec = DiffusionCodec(**{**PAPER, "train_spans": 50})
    targets = codec.targets([SpanTable.of(rows)], lengths, rng=np.random.default_rng(0))
    quiet = targets._replace(time=np.zeros_like(targets.time))  # hardly any noise
    length = torch.as_tensor(lengths)
    share = signal_table(codec.schedule, codec.timesteps)[quiet.time]
    columns = map(torch.as_tensor, (*quiet[2:6], share))
    replaces = codec.expansion == "gaussian"
    noisy = noise_of_training(codec.signal, list(columns), length, replaces)
    gaussian = codec.signal.to_tokens(torch.as_tensor(targets.noise), length)
    filled = torch.as_tensor(~targets.is_gold)
    assert torch.equal(noisy.start[filled], gaussian.start[filled])
    assert torch.equal(noisy.last[filled], gaussian.last[filled])


# -------------------------------------------------------------------- sampling


def test_equation_7_denoises_without_fresh_noise() -> None:
    lengths, n_steps, n_samples = torch.tensor([9]), 20, 3
    signal = Signal(1.0, "boundaries")
    guess = TokenSpans(torch.tensor([[2, 0]]), torch.tensor([[5, 8]]))
    seen: List[TokenSpans] = []

    def denoise(noisy: TokenSpans, step: int) -> Proposals:
        seen.append(noisy)
        nothing = torch.zeros(1, 2, 9)
        return Proposals(guess, nothing, nothing, "sigmoid", nothing)

    found = sample(
        denoise,
        lengths,
        n_spans=2,
        n_samples=n_samples,
        n_steps=n_steps,
        schedule="cosine",
        signal=signal,
        eta=0.0,
        seed=0,
    )
    assert len(list(found)) == n_samples
    shares = signal_shares("cosine", n_steps).double()
    x_t = fixed_noise(2, 0, 0, torch.device("cpu")).double()
    x_0 = signal.of_tokens(*guess, lengths)[0].double()
    for step, (now, then) in enumerate(sampling_times(n_steps, n_samples)):
        expected = signal.to_tokens(x_t[None], lengths)
        assert torch.equal(seen[step].start, expected.start)
        assert torch.equal(seen[step].last, expected.last)
        if then >= 0:
            a_t, a_s = shares[now], shares[then]
            noise = (x_t - a_t.sqrt() * x_0) / (1 - a_t).sqrt()
            x_t = a_s.sqrt() * x_0 + (1 - a_s).sqrt() * noise


# -------------------------------------------------------------------- denoiser


def waves(number: int) -> Tensor:
    """Sines, then cosines of falling frequency."""
    half = SINUSOIDS // 2
    angles = [number / 10_000 ** (i / half) for i in range(half)]
    return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles])


def norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
    deviation = ((x - x.mean()).square().mean() + layer.eps).sqrt()
    return (x - x.mean()) / deviation * layer.weight + layer.bias


def attend(layer: Any, queries: List[Tensor], memory: List[Tensor]) -> List[Tensor]:
    """Attention of each head of the queries to the memory, one pair at a time."""
    results = []
    for query in queries:
        heads = []
        size = len(query) // layer.n_heads
        for head in range(layer.n_heads):
            part = slice(head * size, (head + 1) * size)
            q = layer.query(query)[part]
            scores = torch.stack([q @ layer.key(m)[part] for m in memory])
            weights = (scores / math.sqrt(size)).exp()
            weights = weights / weights.sum()
            values = [w * layer.value(m)[part] for w, m in zip(weights, memory)]
            heads.append(torch.stack(values).sum(dim=0))
        results.append(layer.output(torch.cat(heads)))
    return results


def read(module: DiffusionModule, vectors: Tensor) -> Tensor:
    """The stacked BiLSTM."""
    for layer in module.lstm:
        vectors = layer.lstm(vectors[None])[0][0]
    return vectors


def plain_states(
    module: DiffusionModule, vectors: Tensor, spans: List[Tuple[int, int]], time: int
) -> List[Tensor]:
    """Pooled spans, self attention, cross attention, feed-forward map, timestep."""
    tokens = [module.tokens(vector) for vector in vectors]
    assert module.spans.position is not None and module.spans.pooling.inside is not None
    x = []
    for start, last in spans:
        pooled = module.spans.pooling.inside(vectors)[start : last + 1].mean(dim=0)
        as_start, _ = module.spans.position(waves(start)).chunk(2)
        _, as_last = module.spans.position(waves(last)).chunk(2)
        x.append(pooled + as_start + as_last)
    for layer in module.layers:
        normed = [norm(layer.span_norm, one) for one in x]
        x = [a + b for a, b in zip(x, attend(layer.among_spans, normed, normed))]
        normed = [norm(layer.token_norm, one) for one in x]
        x = [a + b for a, b in zip(x, attend(layer.to_tokens, normed, tokens))]
        x = [one + layer.feed_forward(one) for one in x]
    embedded = module.time(waves(time))
    return [norm(module.norm, one) + embedded for one in x]


def pointed(pointer: Any, state: Tensor, token: Tensor) -> Tensor:
    """An MLP of two maps on the sum of the projections of span and token."""
    joined = pointer.query(state) + pointer.key(token)
    return pointer.hidden(F.relu(pointer.inner(joined)))[0]


def test_section_4_2_denoiser_pointers_and_classifier() -> None:
    module, batch, time = paper_module(), batch_of(), 7
    rows = [(0, 1), (1, 4), (3, 3)]
    spans = TokenSpans(*(torch.tensor([column]) for column in zip(*rows)))
    memory = module.encode(batch)
    found = module(memory, spans, module.moments(memory, torch.tensor([time])))
    classes = module.classify(memory, found.state, spans)
    vectors = read(module, batch.vectors[0])
    states = plain_states(module, vectors, rows, time)
    tokens = [module.tokens(vector) for vector in vectors]
    for fast, pointer in ((found.start, module.start), (found.last, module.last)):
        plain = [[pointed(pointer, one, token) for token in tokens] for one in states]
        slow = torch.stack([torch.stack(row) for row in plain])
        torch.testing.assert_close(fast[0], slow, rtol=1e-4, atol=1e-5)
    named = torch.stack([module.classifier(state) for state in states])
    torch.testing.assert_close(classes[0], named, rtol=1e-4, atol=1e-5)


# -------------------------------------------------------------------- training


def best_assignment(costs: List[List[float]]) -> Dict[int, int]:
    """Try every way to give each gold span a proposal of its own."""
    n_spans, n_gold = len(costs), len(costs[0])

    def search(gold: int, taken: Tuple[int, ...]) -> Tuple[float, Tuple[int, ...]]:
        if gold == n_gold:
            return 0.0, taken
        options = [
            (costs[span][gold] + rest, chosen)
            for span in range(n_spans)
            if span not in taken
            for rest, chosen in [search(gold + 1, (*taken, span))]
        ]
        return min(options)

    return {span: gold for gold, span in enumerate(search(0, ())[1])}


class Fixed(nn.Module):
    """A denoiser with given answers."""

    reads_denoised = False

    def __init__(self, start: Tensor, last: Tensor, classes: Tensor) -> None:
        super().__init__()
        self.start, self.last, self.classes = start, last, classes

    def encode(self, batch: WindowBatch) -> Any:
        return Encoded(batch.mask)

    def moments(self, memory: Any, time: Tensor) -> "Fixed":
        return self

    def at(self, step: int) -> "Fixed":
        return self

    def forward(self, memory: Any, spans: TokenSpans, moments: Any) -> Any:
        return Output(self.start, self.last, self.start)

    def classify(self, memory: Any, state: Tensor, spans: TokenSpans) -> Tensor:
        return self.classes


class Encoded:
    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def repeat(self, times: int) -> "Encoded":
        return self

    def take(self, windows: slice) -> "Encoded":
        return self


class Output:
    def __init__(self, start: Tensor, last: Tensor, state: Tensor) -> None:
        self.start, self.last, self.state = start, last, state


def answers(n_spans: int = 4) -> Fixed:
    generator = torch.Generator().manual_seed(3)
    start, last = (torch.randn(1, n_spans, TOKEN, generator=generator) for _ in "ab")
    classes = torch.randn(1, n_spans, LABEL + 1, generator=generator)
    return Fixed(start, last, classes)


def test_equation_11_matching_and_loss_with_gold_padded_by_no_entity() -> None:
    gold, n_spans = [(0, 2, 0), (2, 5, 1)], 4
    module = answers(n_spans)
    codec = DiffusionCodec(**{**PAPER, "train_spans": n_spans})
    batch = batch_of()
    targets = codec.targets(
        [SpanTable.of(gold)], batch.lengths, rng=np.random.default_rng(0)
    )
    loss = codec.loss(module, batch, targets)

    p_start, p_last = module.start[0].sigmoid(), module.last[0].sigmoid()
    p_class = module.classes[0].softmax(dim=-1)
    costs = [
        [
            -float(p_start[k, start] + p_last[k, end - 1] + p_class[k, label + 1])
            for start, end, label in gold
        ]
        for k in range(n_spans)
    ]
    matched = best_assignment(costs)
    total = 0.0
    for k in range(n_spans):
        if k not in matched:
            total -= float(p_class[k, 0].log())
            continue
        start, end, label = gold[matched[k]]
        total -= float(p_class[k, label + 1].log())
        for p, right in ((p_start[k], start), (p_last[k], end - 1)):
            for token in range(TOKEN):
                chance = p[token] if token == right else 1 - p[token]
                total -= float(chance.log())
    assert float(loss) == pytest.approx(total, rel=1e-5)


# ------------------------------------------------------------------- inference


def test_section_4_3_boundaries_are_the_best_token_of_each_pointer() -> None:
    module = answers()
    found = propose(module.start, module.last, "sigmoid", module.start, "each")
    assert found.spans.start[0].tolist() == [
        int(row.argmax()) for row in module.start[0]
    ]
    assert found.spans.last[0].tolist() == [int(row.argmax()) for row in module.last[0]]


def test_section_4_3_candidates_of_the_last_step_above_phi() -> None:
    n_spans, phi = 40, 1.9
    module = answers(n_spans)
    module.start, module.last, module.classes = (
        3 * scores for scores in (module.start, module.last, module.classes)
    )
    codec = DiffusionCodec(**{**PAPER, "spans": n_spans, "steps": 3})
    threshold = torch.full((LABEL,), phi / 3)
    found = codec.candidates(module, batch_of(), threshold)
    best: Dict[Tuple[int, int], Tuple[float, int]] = {}
    for k in range(n_spans):
        start, last = int(module.start[0, k].argmax()), int(module.last[0, k].argmax())
        p = module.classes[0, k].softmax(dim=0)
        label = int(p.argmax()) - 1
        total = (
            module.start[0, k, start].sigmoid()
            + module.last[0, k, last].sigmoid()
            + p[label + 1]
        )
        if label >= 0 and start <= last and total >= phi:
            best[start, last + 1] = max(
                best.get((start, last + 1), (0.0, 0)), (float(total) / 3, label)
            )
    assert best
    rows = zip(*(column.tolist() for column in found[1:]))
    expected = {(*span, label): score for span, (score, label) in best.items()}
    assert {tuple(row[:3]): row[3] for row in rows} == pytest.approx(expected)
    assert any(  # a reversed span would have been sure enough
        int(s.argmax()) > int(e.argmax())
        for s, e in zip(module.start[0], module.last[0])
    )


def test_scores_are_a_third_of_the_sum_of_the_three_probabilities() -> None:
    module = answers()
    found = propose(module.start, module.last, "sigmoid", module.start, "each")
    scores = label_scores(found, module.classes, "mean")
    k, label = 1, 0
    start, last = found.spans.start[0, k], found.spans.last[0, k]
    p = module.classes[0, k].softmax(dim=0)
    total = module.start[0, k, start].sigmoid() + module.last[0, k, last].sigmoid()
    expected = (total + p[label + 1]) / 3 if p[label + 1] >= p[0] else torch.zeros(())
    torch.testing.assert_close(scores[0, k, label], expected)


def test_all_steps_are_reported_unless_the_last_is_asked_for() -> None:
    seen: List[int] = []

    class Moving(Fixed):
        def forward(self, memory: Any, spans: TokenSpans, moments: Any) -> Any:
            seen.append(1)
            start = torch.zeros_like(self.start)
            start[..., len(seen) % TOKEN] = 9.0
            return Output(start, start, start)

    def starts(report: str) -> List[int]:
        seen.clear()
        module = Moving(
            *(answers(6).__dict__[name] for name in ("start", "last", "classes"))
        )
        module.classes = torch.tensor([-9.0, 9.0, -9.0]).expand(1, 6, 3)
        codec = DiffusionCodec(**{**PAPER, "report": report, "steps": 3})
        found = codec.candidates(module, batch_of(), torch.tensor([0.1, 0.1]))
        return sorted(set(found.start.tolist()))

    assert starts("all") == [1, 2, 3]
    assert starts("last") == [3]
