"""Components that write the same span group, and delete each other's spans."""

import warnings
from typing import Any, List, Optional

from spacy.language import Language

from ..errors import Warnings


def group_written_by(pipe: Any) -> Optional[str]:
    """RETURNS (Optional[str]): key of the span group that a component writes."""
    cfg = getattr(pipe, "cfg", None)
    if isinstance(cfg, dict) and isinstance(cfg.get("spans_key"), str):
        return cfg["spans_key"]
    key = getattr(pipe, "key", None)  # spaCy's span_ruler
    return getattr(pipe, "spans_key", key) if isinstance(key, str) else None


def warn_of_deleted_spans(nlp: Language, pipe: Any) -> None:
    """Warn if a component with `overwrite` deletes the spans of earlier ones (SW009).

    Pairs are reported by the later component, which deletes; by the earlier one if the
    later is frozen or sourced, and so is not initialized.

    nlp (Language): the pipeline.
    pipe (SpanRecognizer): the component that is initialized.
    """
    for name, later in nlp.components:
        earlier = deleted_by(nlp, name)
        frozen = name in nlp.disabled and any(nlp.get_pipe(n) is pipe for n in earlier)
        if earlier and (later is pipe or frozen):
            warnings.warn(
                Warnings.SW009.format(
                    component=name,
                    key=group_written_by(later),
                    earlier=", ".join(map(repr, earlier)),
                )
            )


def deleted_by(nlp: Language, name: str) -> List[str]:
    """RETURNS (List[str]): names of the components whose spans a component deletes."""
    pipe: Any = nlp.get_pipe(name)
    key, cfg = group_written_by(pipe), getattr(pipe, "cfg", None)
    # Components of other packages have no such setting.
    if key is None or not isinstance(cfg, dict) or not cfg.get("overwrite"):
        return []
    before = nlp.component_names[: nlp.component_names.index(name)]
    return [one for one in before if group_written_by(nlp.get_pipe(one)) == key]
