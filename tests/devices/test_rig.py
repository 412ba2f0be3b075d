"""All that needs a GPU, on the device that is not there (see `rig`), in one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils import backend_registration

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
FILES = [HERE / "test_gpu.py", *sorted((HERE / "rig").glob("cases_*.py"))]


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
    reason="this torch has no devices that Python defines",
)
def test_gpu_that_is_not_there() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "tests.devices.rig.plugin"]
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "--durations=10"]
    done = subprocess.run(
        [*command, *options, *map(str, FILES)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
