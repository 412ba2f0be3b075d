"""How to install what an extra of this package adds, for messages."""

from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement


def install_command(extra: str) -> str:
    """Get the command that installs the packages of an extra.

    It names the packages themselves: `pip install spacy-spanner[...]` only works if an
    index has spacy-spanner, this works after an installation from a checkout or a wheel
    as well.

    extra (str): name of the extra; see `setup.cfg`.
    RETURNS (str): the command.

    >>> install_command("plots")
    'pip install "matplotlib>=3.7.0"'
    """
    try:
        needed = [Requirement(line) for line in requires("spacy-spanner") or []]
    except PackageNotFoundError:  # run from a checkout that was never installed
        return f'pip install ".[{extra}]"'
    names = []
    for one in needed:
        if one.marker and one.marker.evaluate({"extra": extra}):
            one.marker = None
            names.append(f'"{one}"')
    return " ".join(["pip install", *names])
