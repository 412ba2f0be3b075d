"""What a scanner finds in the code, and which versions are pinned."""

import json
import re
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).parents[2]
SCANNED = ("spacy_spanner", "scripts")


def test_scanner_finds_nothing_in_the_code() -> None:
    command = ("-m", "bandit", "-q", "-c", "pyproject.toml", "-f", "json", "-r")
    words = [sys.executable, *command, *SCANNED]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["metrics"]["_totals"]["loc"] > 10_000
    assert report["errors"] == []
    assert [(one["test_id"], one["filename"]) for one in report["results"]] == []


def test_exceptions_from_the_scan_have_a_reason() -> None:
    """A comment says why, above the call that is excepted or those that are."""
    found = 0
    for folder in SCANNED:
        for path in (ROOT / folder).rglob("*.py"):
            lines = path.read_text(encoding="utf8").splitlines()
            for number, line in enumerate(lines):
                if "# nosec" in line:
                    found += 1
                    assert re.search(r"# nosec B\d{3}$", line), path
                    above = "\n".join(lines[max(number - 7, 0) : number])
                    assert re.search(r"^\s*# (?!nosec)", above, re.MULTILINE), path
    assert found == 6


def test_skipped_checks_have_a_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    block = text.split("[tool.bandit]")[1].split("\n[")[0]
    skipped = re.findall(r'"(B\d{3})"', block)
    assert len(skipped) == 4
    assert all(re.search(rf"^# .*{code}.*: ", block, re.MULTILINE) for code in skipped)


def test_pinned_versions_are_final_and_pinned_once() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf8").splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    names = [re.sub("[-_.]+", "-", name).lower() for name, _ in pins]
    assert len(names) > 100
    assert len(set(names)) == len(names)
    assert not [name for name, version in pins if Version(version).is_prerelease]
