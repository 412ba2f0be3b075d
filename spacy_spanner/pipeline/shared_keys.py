"""The span groups that components write, and components that write the same one."""

import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple
from weakref import ref

from spacy.language import Language

from ..errors import Warnings


def group_written_by(pipe: Any) -> Optional[str]:
    """RETURNS (Optional[str]): key of the span group that a component writes."""
    cfg = getattr(pipe, "cfg", None)
    if isinstance(cfg, dict) and isinstance(cfg.get("spans_key"), str):
        return cfg["spans_key"]
    key = getattr(pipe, "key", None)  # spaCy's span_ruler
    return getattr(pipe, "spans_key", key) if isinstance(key, str) else None


class WrittenGroups:
    """The span groups that the components of a pipeline write.

    They are looked up in the pipeline each time, because components and their keys may
    change. A component that keeps this in itself does not keep its pipeline alive. When
    the pipeline is gone, and in a pickled or deep copy, which has none, the groups are
    those of the last look.
    """

    def __init__(self, nlp: Language) -> None:
        """Look at a pipeline.

        nlp (Language): the pipeline.
        """
        self._pipeline: Callable[[], Optional[Language]] = ref(nlp)
        self._last: Dict[str, str] = {}
        self.by_component()

    def by_component(self) -> Dict[str, str]:
        """RETURNS (Dict[str, str]): the group of each component that writes one."""
        nlp = self._pipeline()
        if nlp is not None:
            written = {name: group_written_by(pipe) for name, pipe in nlp.components}
            self._last = {one: key for one, key in written.items() if key is not None}
        return self._last

    def __reduce__(self) -> Tuple[Callable[..., "WrittenGroups"], Tuple[Any, ...]]:
        """A weak reference cannot be pickled, and a component should not take its
        whole pipeline with it.
        """
        return _without_pipeline, (self.by_component(),)


def _without_pipeline(groups: Dict[str, str]) -> WrittenGroups:
    """RETURNS (WrittenGroups): these groups, for good."""
    written = WrittenGroups.__new__(WrittenGroups)
    written._pipeline, written._last = _no_pipeline, groups
    return written


def _no_pipeline() -> None:
    """RETURNS (None): as a weak reference does when its object is gone."""


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
