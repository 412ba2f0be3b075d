"""Whether the model hub can be reached.

Without network access, each of the hub's files is tried many times before the error:
almost a minute for an encoder that is not there.
"""

import socket
from pathlib import Path
from typing import Any, Dict
from urllib.parse import urlsplit
from urllib.request import getproxies

PORTS = {"http": 80, "https": 443}


def fetch_options(name: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): arguments for `from_pretrained`, which use only files
    that were downloaded before if the hub cannot be reached.

    name (str): a folder, or a name on the hub.
    """
    if Path(name).is_dir() or not is_hub_name(name) or hub_is_reachable():
        return {}
    return {"local_files_only": True}


def is_hub_name(name: str) -> bool:
    """RETURNS (bool): whether a name has the form of those on the hub, with at most one
    slash, and is not just a folder that does not exist.
    """
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def hub_is_reachable() -> bool:
    """RETURNS (bool): whether the hub can be connected to, or there is a proxy which
    may do so.
    """
    from huggingface_hub import constants

    url = urlsplit(constants.ENDPOINT)
    if getproxies().get(url.scheme) or getproxies().get("all"):
        return True
    address = (url.hostname or "", url.port or PORTS.get(url.scheme, 443))
    try:
        socket.create_connection(address, constants.HF_HUB_ETAG_TIMEOUT).close()
    except OSError:  # also names that cannot be resolved
        return False
    return True
