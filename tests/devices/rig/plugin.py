"""`pytest -p tests.devices.rig.plugin`: run tests with the device that is not there."""

from . import bridge

bridge.install()

import spacy  # noqa: E402, F401
