"""What a batch of 32 sentences costs a GPU: `python -m tests.devices.rig.batches` shows
the table of docs/performance.md.
"""

if __name__ == "__main__":  # before Thinc is imported
    from tests.devices.rig import bridge

    bridge.install()

import random
import sys
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed, require_cpu, require_gpu

from spacy_spanner.training.optimizer import make_adamw

from ...helpers import FACTORIES, annotate, defaults_of
from .counts import Sums, counted

N_SENTENCES = 32
WORDS = "the cat sat on a mat in Boston with Ana Ruiz of Leon County court and"


class Costs(NamedTuple):
    """Traffic of a prediction, of the gradients of a batch, and of an update."""

    predict: Sums
    learn: Sums
    step: Sums


def sentence(nlp: Language, rng: random.Random) -> Example:
    """RETURNS (Example): about 25 words with four nested spans of four labels."""
    words = rng.choices(WORDS.split(), k=max(5, int(rng.gauss(25, 8))))
    starts = [rng.randrange(len(words)) for _ in range(4)]
    spans = {(s, min(len(words), s + rng.choice([1, 1, 2, 3, 4]))) for s in starts}
    gold = [(start, end, rng.choice("ABCD")) for start, end in sorted(spans)]
    docs = [Doc(nlp.vocab, words=words) for _ in range(2)]
    return Example(docs[0], annotate(docs[1], gold))


def batch(nlp: Language, seed: int) -> List[Example]:
    """RETURNS (List[Example]): the same sentences for the same seed."""
    rng = random.Random(seed)
    return [sentence(nlp, rng) for _ in range(N_SENTENCES)]


def measure(factory: str, encoder: Optional[Dict[str, Any]] = None) -> Costs:
    """Count on the device that is not there, after a batch that pays for what is made
    once.

    encoder (Optional[Dict]): config of the encoder, the default if None.
    RETURNS (Costs): of one batch with the default settings.
    """
    require_gpu()
    fix_random_seed(0)
    nlp = spacy.blank("en")
    model = dict(defaults_of(factory)["model"])
    model["tok2vec"] = encoder or model["tok2vec"]
    pipe: Any = nlp.add_pipe(factory, config={"model": model})
    nlp.initialize(lambda: batch(nlp, 0))
    optimizer = make_adamw(encoder=1e-4, head=1e-3)
    for _ in range(2):
        nlp.update(batch(nlp, 0), sgd=optimizer)
    examples = batch(nlp, 1)
    pipe.predict([example.predicted for example in examples])
    with counted() as traffic:
        pipe.predict([example.predicted for example in examples])
        predict = traffic.sums
    with counted() as traffic:
        pipe.update(examples)
        learn = traffic.sums
    with counted() as traffic:
        pipe.finish_update(optimizer)
        step = traffic.sums
    require_cpu()
    return Costs(predict, learn, step)


def table(encoders: Dict[str, Optional[Dict[str, Any]]]) -> Iterator[Tuple[str, ...]]:
    """YIELDS (Tuple[str, ...]): encoder, model, and the costs of each direction."""
    for name, encoder in encoders.items():
        for factory in FACTORIES:
            costs = measure(factory, encoder)
            yield (name, factory, *("/".join(map(str, part)) for part in costs))


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    minilm = {"@architectures": "spacy_spanner.Transformer.v1", "name": "minilm"}
    print("up/down/waits/operations")
    for row in table({"cnn": None, "minilm": minilm}):
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
