"""Measure the steps from a new interpreter to a component, for `startup.py`.

python benchmarks/cold_start.py span_biaffine

Prints seconds as JSON. Measured modules are not imported before their measurement.
"""

import json
import sys
import time
from importlib import import_module

FACTORIES = ("biaffine", "locate_label", "diffusion", "offset")


def main() -> None:
    """Import spaCy, then this package with the modules of all factories, then create a
    pipeline with the component.
    """
    ticks = [time.perf_counter()]
    spacy = import_module("spacy")
    ticks.append(time.perf_counter())
    import_module("spacy_spanner")
    for name in FACTORIES:
        import_module(f"spacy_spanner.models.{name}.register")
    ticks.append(time.perf_counter())
    nlp = spacy.blank("en")
    ticks.append(time.perf_counter())
    nlp.add_pipe(sys.argv[1])
    ticks.append(time.perf_counter())
    names = ("spacy", "package", "blank", "add_pipe")
    print(json.dumps({n: b - a for n, a, b in zip(names, ticks, ticks[1:])}))


if __name__ == "__main__":
    main()
