"""Starting servers: what is refused, one worker, and several."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, List

import httpx
import pytest

from spacy_spanner.jobs.serve.limits import Limits, RefusedError, error_body
from spacy_spanner.jobs.serve.starting import Serving, require_free, run

from ...cli.helpers import invoke
from ...helpers import NESTED, trained
from .running import SECONDS, wait_until

COURT = NESTED[0][0]


@pytest.mark.parametrize(
    "words,problem",
    [
        (["--train-after", "5"], "no --label-studio, no --output"),
        (["--label-studio", "-o", "out"], "no --train-after"),
        (
            ["--train-after", "5", "--label-studio", "-o", "out", "--workers", "2"],
            "--workers 2",
        ),
    ],
)
def test_training_needs_its_options(
    words: List[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("serve", "no_model", *words)
    assert done.exit_code == 1
    assert "[SP221]" in done.stderr and problem in " ".join(done.stderr.split())
    assert not Path("out").exists()


def test_port_that_is_taken_or_host_that_does_not_exist() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "[SP223]" in invoke("serve", "no_model", "--port", port).stderr
    done = invoke("serve", "no_model", "--host", "999.1.1.1")
    assert done.exit_code == 1 and "[SP223]" in done.stderr


def test_free_port_of_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    require_free("::1", 0)


def test_pipeline_that_cannot_be_loaded() -> None:
    done = invoke("serve", "no_model", "--port", 0)
    assert done.exit_code == 1 and "[E050]" in done.stderr


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ValueError, match=r"SP123.*fastapi"):
        run(Serving("no_model"), host="127.0.0.1", port=0)


def test_settings_of_workers_are_plain_data() -> None:
    serving = Serving("model", threads=1, limits=Limits(body=5))
    assert Serving.of(asdict(serving)) == serving


def test_errors_have_code_and_message() -> None:
    body = error_body("[SP210] The body\nis not JSON.")
    assert body == {"code": "SP210", "message": "The body\nis not JSON."}
    assert error_body("Boom") == {"code": None, "message": "Boom"}
    assert RefusedError(404, "a").headers == {}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.slow
def test_workers_answer_until_they_are_told_to_stop(tmp_path: Path) -> None:
    trained("span_biaffine").to_disk(tmp_path / "model")
    port = free_port()
    words = ["serve", tmp_path / "model", "--port", port, "--workers", 2]
    words += ["--threads", 1, "--label-studio"]
    command = [sys.executable, "-m", "spacy", "spanner", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    log = tmp_path / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"

    def is_up() -> Any:
        assert process.poll() is None, log.read_text()
        try:
            return httpx.get(f"{url}/health").status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_until(is_up, "the start", seconds=240)
        for _ in range(4):
            answer = httpx.post(f"{url}/spans", json={"text": COURT}, timeout=SECONDS)
            assert len(answer.json()["spans"]) == 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0, log.read_text()
    finally:
        with suppress(ProcessLookupError):  # all have ended
            os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in log.read_text()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/health")
