"""Distributions are complete and clean, and packaged pipelines work where they are
installed.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any, List, NamedTuple

import pytest
import spacy
from packaging.metadata import Metadata
from spacy.language import Language
from spacy.tokens import DocBin

from ..helpers import NESTED, make_examples, small_model, train, trained

ROOT = Path(__file__).parents[2]
# Not needed by those who install the package or run its tests.
LEFT_OUT = (".ci/", ".github/", ".gitignore")
TEXT = "The US Supreme Court will hear arguments from Leon County."
CODE = """
import json, sys, importlib
nlp = importlib.import_module(sys.argv[1]).load()
doc = nlp(sys.argv[2])
print(json.dumps([[span.start, span.end, span.label_] for span in doc.spans["ents"]]))
"""


class Built(NamedTuple):
    """A source distribution, a wheel, and what was printed while they were built."""

    sdist: Path
    wheel: Path
    printed: str


def attempt(*command: object, **options: Any) -> subprocess.CompletedProcess:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, **options)


def run(*command: object, **options: Any) -> str:
    done = attempt(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked_files() -> List[str]:
    """List the files of the checkout that are not ignored."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is not a checkout")
    listed = run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT)
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def build_distributions(folder: Path) -> Built:
    """Build both distributions from a copy of the checkout."""
    for name in tracked_files():
        target = folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    output = folder / "dist"
    build = (sys.executable, "-m", "build", "--outdir", output, folder / "source")
    printed = run(*build)
    (sdist,), (wheel,) = output.glob("*.tar.gz"), output.glob("*.whl")
    return Built(sdist, wheel, printed)


def check_metadata(text: str) -> None:
    """Check what an index shows, and refuses if it is wrong."""
    found = Metadata.from_email(text, validate=True)
    assert found.license_expression == "MIT"
    assert found.license_files == ["LICENSE"]
    assert str(found.version) in run(sys.executable, "-m", "pip", "show", found.name)
    assert found.description_content_type == "text/markdown"
    assert found.description is not None
    # An index has no other files, so that links to them would break.
    links = re.findall(r"\]\(([^)]+)\)", found.description)
    assert [link for link in links if not link.startswith("https://")] == []


@pytest.mark.slow
def test_distributions_are_clean_and_complete(tmp_path: Path) -> None:
    built = build_distributions(tmp_path)
    # Python may be told not to compile, which is no problem of the package.
    printed = built.printed.replace("warning: build_py: byte-compiling", "")
    printed = printed.replace("warning: install_lib: byte-compiling", "")
    assert not re.search(r"(?i)warning|deprecat|\*{20}", printed), printed
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = [one for one in tracked_files() if not one.startswith(LEFT_OUT)]
    assert [name for name in wanted if name not in names] == []
    with zipfile.ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        check_metadata(wheel.read(metadata).decode("utf8"))
    package = [one for one in wanted if one.startswith("spacy_spanner/")]
    assert [name for name in package if name not in names] == []
    configs = [
        one for one in wanted if one.startswith("configs/") and one[-4:] != ".md"
    ]
    shared = {name.partition("/share/spacy-spanner/")[2] for name in names}
    left_out = [name for name in configs if name not in shared]
    assert left_out == ["configs/ablations.yml"]


def encoder_pipeline(folder: Path) -> Language:
    """Train a pipeline that owns a pretrained encoder."""
    nlp = spacy.blank("en")
    encoder = {"@architectures": "spacy_spanner.Transformer.v1", "name": str(folder)}
    model = small_model("span_biaffine", encoder)
    nlp.add_pipe("span_biaffine", config={"model": model})
    train(nlp, make_examples(nlp, NESTED), updates=300)
    return nlp


def packaged(nlp: Language, name: str, folder: Path) -> Path:
    """Make a wheel of a pipeline."""
    nlp.to_disk(folder / name)
    package = ("-m", "spacy", "package", folder / name, folder, "--name", name)
    run(sys.executable, *package, "--build", "wheel")
    (wheel,) = folder.glob(f"en_{name}-*/dist/*.whl")
    return wheel


@pytest.mark.slow
def test_packages_of_trained_pipelines_load_in_a_fresh_environment(
    tmp_path: Path, tiny_bert: Path
) -> None:
    plain, pretrained = trained("span_biaffine"), encoder_pipeline(tiny_bert)
    wheels = [
        packaged(plain, "plain_demo", tmp_path),
        packaged(pretrained, "encoder_demo", tmp_path),
    ]
    own_wheel = build_distributions(tmp_path).wheel
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet")
    constraints = ("-c", ROOT / "constraints.txt")
    predict = (python, "-c", CODE)

    run(*install, *constraints, own_wheel, wheels[0])
    found = run(*predict, "en_plain_demo", TEXT, cwd=tmp_path)
    assert json.loads(found) == spans_of(plain)
    gold = [example.reference for example in make_examples(plain, NESTED)]
    DocBin(docs=gold).to_disk(tmp_path / "gold.spacy")
    evaluate = ("-m", "spacy", "spanner", "evaluate", "en_plain_demo", "gold.spacy")
    printed = run(python, *evaluate, "-o", "report", cwd=tmp_path)
    assert "P 100.0, R 100.0, F 100.0" in printed and "SW151" in printed

    run(*install, "--no-deps", wheels[1])
    done = attempt(*predict, "en_encoder_demo", TEXT, cwd=tmp_path)
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("ImportError: [SP014]")
    assert 'pip install "safetensors>=' in message

    run(*install, *constraints, wheels[1])
    found = run(*predict, "en_encoder_demo", TEXT, cwd=tmp_path)
    assert json.loads(found) == spans_of(pretrained) != []


def spans_of(nlp: Language) -> List[List[Any]]:
    doc = nlp(TEXT)  # spans do not keep it
    return [[span.start, span.end, span.label_] for span in doc.spans["ents"]]
