"""Compare weights with their moving averages, in one training.

python benchmarks/averages.py DATA --corpora demo,genia --seeds 0,1

Averages do not change the weights that are trained. So every run trains one model with
`spacy_spanner.AdamW.v1`, and scores it on dev with the weights and with averages of
each decay, five times; the best of the five is scored on the test split.
"""

import time
from pathlib import Path
from typing import Any, Dict, List, Sequence

import typer
from common import SPANS_KEY, build_pipeline, start_training, take_steps, to_examples
from corpora import CORPORA
from measuring import in_fresh_process
from options import DATA
from thinc.api import warmup_linear

from spacy_spanner.evaluation.tables import markdown_table
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.training.averages import Averages
from spacy_spanner.training.optimizer import make_adamw

RATE, LOOKS, BATCH = 1e-3, 5, 8


class Several(Averages):
    """Averages with several decays, in place of those of an optimizer."""

    def __init__(self, decays: Sequence[float]) -> None:
        """decays (Sequence[float]): see `Averages`."""
        super().__init__(0.0)
        self.all = {decay: Averages(decay) for decay in decays}
        self.seconds = 0.0

    def know(self, model: Any) -> None:
        """Note the modules of a model."""
        for one in self.all.values():
            one.know(model)

    def update(self, learned: Any, counts: Any) -> None:
        """Move all averages, and take the time."""
        start = time.process_time()
        for one in self.all.values():
            one.update(learned, counts)
        self.seconds += time.process_time() - start


def compare(
    corpus: str,
    system: str,
    seed: int,
    falling: bool,
    decays: Sequence[float],
    data: Path,
    sentences: int,
    epochs: int,
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): F1 on dev and test with the weights (0) and with the
    averages of each decay, and the share of the time of the averages with one decay.
    """
    found = CORPORA[corpus]
    nlp = build_pipeline(system, "cnn", lang=found.dataset.lang)
    docs = found.read(data, nlp, max_sentences=sentences)
    examples = {split: to_examples(part) for split, part in docs.items()}
    start_training(nlp, examples["train"], seed)
    n_steps = epochs * -(-len(examples["train"]) // BATCH)
    rate = warmup_linear(RATE, 0, n_steps) if falling else RATE
    optimizer = make_adamw(encoder=rate, head=rate, use_averages=True)
    several = optimizer.moving = Several(decays)
    best: Dict[float, Any] = {}
    start = time.process_time()
    training = 0.0
    for step in take_steps(
        nlp, examples["train"], optimizer, n_steps=n_steps, batch_size=BATCH, seed=seed
    ):
        if step % (n_steps // LOOKS):
            continue
        training += time.process_time() - start
        for decay in (0.0, *decays):
            params = several.all[decay].as_params() if decay else {}
            with nlp.use_params(params):
                f = scores_of(nlp, examples["dev"], SPANS_KEY)["f"] or 0.0
                if f > best.get(decay, (-1.0,))[0]:
                    best[decay] = f, nlp.to_bytes()
        start = time.process_time()
    scores = {}
    for decay, (dev, state) in best.items():
        nlp.from_bytes(state)
        test = scores_of(nlp, examples["test"], SPANS_KEY)["f"] or 0.0
        scores[str(decay)] = {"dev": dev, "test": test}
    share = several.seconds / len(decays) / (training - several.seconds)
    return {"scores": scores, "share": share}


def main(
    data: Path = DATA,
    corpora: str = typer.Option("demo,genia", help="Comma-separated corpora"),
    system: str = typer.Option("span_biaffine", help="Factory"),
    seeds: str = typer.Option("0,1", help="Comma-separated seeds"),
    decays: str = typer.Option("0.99,0.999", help="Comma-separated decays"),
    sentences: int = typer.Option(500, help="Limit for the train and the dev split"),
    epochs: int = typer.Option(10, help="Passes over the training data"),
) -> None:
    """Print a row for each corpus and schedule, with means over the seeds."""
    chosen = [float(decay) for decay in decays.split(",")]
    rows: List[List[str]] = []
    for corpus in corpora.split(","):
        for falling in (False, True):
            runs = [
                in_fresh_process(
                    compare,
                    *(corpus, system, int(seed), falling, chosen),
                    *(data, sentences, epochs),
                )
                for seed in seeds.split(",")
            ]
            cells = [
                f"{100 * sum(r['scores'][str(d)][part] for r in runs) / len(runs):.1f}"
                for part in ("dev", "test")
                for d in (0.0, *chosen)
            ]
            share = max(run["share"] for run in runs)
            rows.append(
                [corpus, "falling" if falling else "constant", *cells, f"{share:.1%}"]
            )
            print(rows[-1], flush=True)
    names = [
        f"{part} {d or 'weights'}" for part in ("dev", "test") for d in (0.0, *chosen)
    ]
    print(markdown_table(["corpus", "rates", *names, "time"], rows))


if __name__ == "__main__":
    typer.run(main)
