"""Check the score weights of a training config, and keep all scores in `meta.json`.

spaCy silently drops weights of unknown scores: every checkpoint then scores 0.0 and
counts as the best one. And it keeps only scores that have a weight, even if it is null.
"""

from itertools import islice
from typing import Any, Callable, Iterable, Optional, Set

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors

# Scores that do not come from a component.
GENERAL_SCORES = {"speed", "token_acc", "token_p", "token_r", "token_f"}


def check_score_weights(
    nlp: Language, pipe: Any, get_examples: Callable[[], Iterable[Example]]
) -> None:
    """Compare the score weights of a training config with the scores of the pipeline.

    The component's other scores get the weight null, so that `meta.json` keeps them.

    nlp (Language): the pipeline, with the config.
    pipe (SpanRecognizer): the component that asks; named in the message.
    get_examples (Callable): examples to score.
    RAISES (ValueError): SP005 when a weight above 0 has no score.
    """
    weights = nlp.config["training"]["score_weights"]
    produced = produced_scores(nlp, list(islice(get_examples(), 1)))
    if produced is None:
        return
    key = pipe.settings.spans_key
    own = sorted(score for score in produced if score.startswith(f"spans_{key}_"))
    weighed = {key for key, weight in weights.items() if weight}
    missing = sorted(weighed - produced)
    if weighed & set(own):
        # spaCy adds the defaults of the factory, which knows of no other spans_key:
        # they would show as columns of zeros, and lower the weighted score.
        unused = default_weights(nlp, pipe) - produced
        weights.update(dict.fromkeys(unused))
        missing = [name for name in missing if name not in unused]
    if missing:
        raise ValueError(
            Errors.SP005.format(
                missing=", ".join(missing),
                component=pipe.name,
                key=key,
                produced=", ".join(own),
            )
        )
    for name in own:
        weights.setdefault(name, None)


def default_weights(nlp: Language, pipe: Any) -> Set[str]:
    """RETURNS (Set[str]): score weights that the factory of a component brings."""
    return set(nlp.get_pipe_meta(pipe.name).default_score_weights or {})


def produced_scores(nlp: Language, examples: Iterable[Example]) -> Optional[Set[str]]:
    """Ask every component of the pipeline to score.

    RETURNS (Optional[Set[str]]): the keys; None if one cannot tell.
    """
    produced = set(GENERAL_SCORES)
    # With those that are frozen or sourced, which are switched off only at first.
    for _, pipe in nlp.components:
        if hasattr(pipe, "score"):
            try:
                produced.update(pipe.score(examples))
            except Exception:  # a foreign scorer that needs predictions
                return None
    return produced
