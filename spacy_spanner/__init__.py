"""Span-based named entity recognition for spaCy.

Installing the package registers the factories; `nlp.add_pipe("span_biaffine")` needs no
import. `__all__` lists the names for programs, which are loaded when they are first
used.
"""

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Any, Dict, List, Optional, Sequence

try:
    __version__ = version("spacy-spanner")
except PackageNotFoundError:  # run from a folder that was never installed
    __version__ = "0.0.0"

# The public names, with the modules that they live in.
_PUBLIC: Dict[str, str] = {
    "AdamW": "training.optimizer",
    "LostSpans": "corpus.records",
    "SPARK_COLUMNS": "jobs.annotate.frames",
    "SpanAnnotator": "jobs.annotate.annotator",
    "SpanRecognizer": "pipeline.component",
    "convert_corpus": "corpus.conversion",
    "count_docs": "corpus.statistics",
    "evaluate_pipeline": "evaluation.summary",
    "make_adamw": "training.optimizer",
    "read_docs": "corpus.conversion",
    "recipe": "preflight.recipes",
    "render_card": "evaluation.card",
    "score_spans": "evaluation.scorer",
    "scores_of": "pipeline.span_scores",
    "set_precision": "pipeline.precision",
    "tune": "evaluation.tuning",
    "write_report": "evaluation.report.page",
}

__all__ = [
    "SPARK_COLUMNS",
    "AdamW",
    "LostSpans",
    "SpanAnnotator",
    "SpanRecognizer",
    "__version__",
    "convert_corpus",
    "count_docs",
    "evaluate_pipeline",
    "make_adamw",
    "read_docs",
    "recipe",
    "render_card",
    "score_spans",
    "scores_of",
    "set_precision",
    "tune",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})


# Modules of version 0.1 that its documentation named, and where they are now.
_MOVED: Dict[str, str] = {
    "annotations": "pipeline.annotations",
    "codec": "models.codec",
    "component": "pipeline.component",
    "corpus.convert": "corpus.conversion",
    "corpus.lost": "corpus.records",
    "corpus.rows": "corpus.formats.dataset_rows",
    "gold": "pipeline.gold",
    "model_card": "evaluation.card",
    "parallel": "jobs.parallel",
    "scale": "jobs.annotate",
    "scorers": "evaluation.scorer",
    "sweep": "jobs.search",
    "training.optimizers": "training.optimizer",
    "training.parameters": "training.owners",
    "training.shares": "training.owners",
    "types": "spans.table",
    "windows": "spans.windows",
}


def _new_name(name: str) -> Optional[str]:
    """RETURNS (Optional[str]): where a module is now; None if it has not moved."""
    package, _, path = name.partition(".")
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        old = ".".join(parts[:size])
        if package == __name__ and old in _MOVED:
            return ".".join([__name__, _MOVED[old], *parts[size:]])
    return None


class _MovedModules(MetaPathFinder, Loader):
    """Imports modules by the names of version 0.1, with a warning."""

    def find_spec(
        self,
        fullname: str,
        path: Optional[Sequence[str]] = None,
        target: Optional[ModuleType] = None,
    ) -> Optional[ModuleSpec]:
        new = _new_name(fullname)
        if new is None:
            return None
        found = find_spec(new)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return spec_from_loader(fullname, self, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        new = _new_name(module.__name__)
        assert new is not None  # for the type checker: found by find_spec
        warnings.warn(
            f"{module.__name__} has moved to {new}. The old name works in this release "
            "only. Import public names directly from spacy_spanner.",
            DeprecationWarning,
            stacklevel=2,
        )
        sys.modules[module.__name__] = import_module(new)

    def get_code(self, fullname: str) -> CodeType:
        """RETURNS (CodeType): what `python -m` runs."""
        code = f"from runpy import run_module; run_module({_new_name(fullname)!r}, "
        return compile(code + "run_name='__main__')", fullname, "exec")


sys.meta_path.insert(0, _MovedModules())
