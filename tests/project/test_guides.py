"""The guides run from top to bottom, print what they show, and have a script each.

Trainings are short here, so that what depends on how well a pipeline has learned, or on
the machine, is not compared: the pages mark it with a comment.
"""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Iterator, Set

import pytest

pytestmark = pytest.mark.usefixtures("whole_english")

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
SHORT = {"training.max_steps": "40", "training.eval_frequency": "40"}
# Guides that need an extra which the tests may be run without.
NEEDS = {"serving": ["fastapi", "httpx"], "gpu": ["transformers"]}


@contextlib.contextmanager
def scripts() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        yield
    finally:
        sys.path.remove(str(ROOT / "scripts"))


with scripts():
    import guide_pages
    import guide_runner


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What the pages share: the demo corpus and pipelines, also between processes."""
    from filelock import FileLock

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "guides"
    folder.mkdir(exist_ok=True)
    corpus, trained = folder / "demo", folder / "trained"
    with FileLock(f"{corpus}.lock"):
        if not corpus.exists():
            convert_demo_corpus(corpus)
            trained.mkdir()
    return SimpleNamespace(corpus=corpus, trained=trained)


def convert_demo_corpus(folder: Path) -> None:
    """Do what `spacy project run corpus` does. A process of its own keeps the names of
    the scripts (datasets, convert) from those of other packages.
    """
    command = [sys.executable, "scripts/convert.py", "demo", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", guide_pages.pages(), ids=lambda page: page.stem)
def test_guide_runs_as_written(
    page: Path, tmp_path: Path, shared: SimpleNamespace
) -> None:
    for package in NEEDS.get(page.stem, ()):
        pytest.importorskip(package)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    runner = guide_runner.Runner(shared.corpus, shared.trained, SHORT)
    for _, shown, printed in guide_runner.run_page(page, tmp_path, runner):
        if shown is not None:
            guide_runner.compare(shown, printed)


@pytest.mark.parametrize("page", guide_pages.pages(), ids=lambda page: page.stem)
def test_example_has_the_code_of_its_guide(page: Path) -> None:
    path = ROOT / "examples" / f"{page.stem}.py"
    assert path.read_text(encoding="utf8") == guide_pages.render_script(page)


def test_outputs_are_compared() -> None:
    shown = guide_pages.Block("text", None, "✔ 12 documents in ... s\n", "", 0, 1)
    guide_runner.compare(shown, "✔ 12 documents in 0.3 s\n")
    with pytest.raises(guide_runner.OutputError):
        guide_runner.compare(shown, "✔ 13 documents in 0.3 s\n")
    guide_runner.compare(shown._replace(note="varies: scores"), "")


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_every_block_of_code_is_run_or_says_why_not(page: Path) -> None:
    """Fences that the runner does not see would never be run."""
    text = page.read_text(encoding="utf8")
    blocks = guide_pages.read_blocks(page)
    assert text.count("```") == 2 * len(blocks)
    known = {"python", "bash", "text", "ini", "json", "yaml"}
    assert {block.language for block in blocks} <= known
    files = [block for block in blocks if block.language in ("ini", "json", "yaml")]
    assert all(block.title or block.reason for block in files)
    empty = [block for block in blocks if not block.text.strip()]
    assert empty == []


def anchors(page: Path) -> Set[str]:
    """RETURNS: what links to the headings of a page end in."""
    text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf8"))
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
    }


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_links_of_guides_lead_somewhere(page: Path) -> None:
    text = re.sub(r"(?s)```.*?```|`[^`]*`", "", page.read_text(encoding="utf8"))
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


def test_index_lists_all_guides() -> None:
    index = (ROOT / "docs" / "guides" / "index.md").read_text(encoding="utf8")
    names = {page.name for page in GUIDES} - {"index.md"}
    assert names <= set(re.findall(r"\]\(([\w.]+)\)", index))
