"""A hub that cannot be reached is not tried again and again."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

from spacy_spanner.encoders.hub import fetch_options

constants = pytest.importorskip("huggingface_hub.constants")
LOCAL = {"local_files_only": True}
# A name that is reserved for never being resolved.
NOWHERE = "https://hub.invalid"
LOAD = """
from spacy_spanner.encoders.pretrained import PretrainedShim
settings = {"layers": 1, "mixed_precision": False, "gradient_checkpointing": False}
PretrainedShim("no-such/encoder", **settings).load()
"""


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_hub_that_is_reached_is_asked(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    assert fetch_options("name/encoder") == {}


def test_hub_that_refuses_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        number = closed.getsockname()[1]
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{number}")
        assert fetch_options("name/encoder") == LOCAL


def test_hub_without_network_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    assert fetch_options("name/encoder") == LOCAL


def test_proxy_may_know_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    monkeypatch.setenv("https_proxy", "http://proxy.invalid:3128")
    assert fetch_options("name/encoder") == {}


def test_folder_needs_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    assert fetch_options(str(tmp_path)) == {}


def test_folder_that_does_not_exist_needs_no_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "create_connection", None)
    assert fetch_options(str(tmp_path / "nothing")) == {}


@pytest.mark.slow
def test_unknown_encoder_without_network_fails_at_once() -> None:
    pytest.importorskip("transformers")
    env = {**os.environ, "HF_ENDPOINT": NOWHERE}
    env.pop("HF_HUB_OFFLINE", None)
    done = subprocess.run(
        [sys.executable, "-c", LOAD], capture_output=True, text=True, env=env
    )
    assert "[SP015] The encoder 'no-such/encoder' cannot be loaded" in done.stderr
    assert "Retrying" not in done.stderr
