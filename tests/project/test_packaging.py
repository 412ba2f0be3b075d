"""A trained pipeline becomes a wheel that works in a fresh environment."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from ..helpers import trained

ROOT = Path(__file__).parents[2]
TEXT = "The US Supreme Court will hear arguments from Leon County."
CODE = """
import json, sys, importlib
nlp = importlib.import_module(sys.argv[1]).load()
doc = nlp(sys.argv[2])
print(json.dumps([[span.start, span.end, span.label_] for span in doc.spans["ents"]]))
"""


def run(*command: object, **kwargs: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **kwargs)  # type: ignore
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_package_of_a_trained_pipeline_loads_in_a_fresh_environment(
    tmp_path: Path,
) -> None:
    import json

    nlp = trained("span_biaffine")
    nlp.to_disk(tmp_path / "pipeline")
    package = ("-m", "spacy", "package", tmp_path / "pipeline", tmp_path)
    run(sys.executable, *package, "--build", "wheel", "--name", "spanner_demo")
    (pipeline_wheel,) = tmp_path.glob("*/dist/*.whl")
    build = ("-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT)
    run(sys.executable, *build)
    (own_wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    constraints = ("-c", ROOT / "constraints.txt")
    install = ("-m", "pip", "install", "--quiet", *constraints)
    run(python, *install, own_wheel, pipeline_wheel)
    found = run(python, "-c", CODE, "en_spanner_demo", TEXT, cwd=tmp_path)
    expected = nlp(TEXT)
    assert json.loads(found) == [
        [span.start, span.end, span.label_] for span in expected.spans["ents"]
    ]
