"""Values with the reasons for them, in layers that override one another."""

from typing import Any, Dict, Tuple

from .config_text import Comments, value_text

# Where a value comes from: the key that it has in the table, and the word for comments.
ORIGINS = {"own": "own", "code": "the authors' code", "value": ""}
MARKS = {*ORIGINS, "paper", "note"}

Tree = Dict[str, Any]


def is_marked(value: Any) -> bool:
    """RETURNS (bool): whether the table gives a reason for this value."""
    return isinstance(value, dict) and bool(value) and set(value) <= MARKS


def unmarked(value: Any) -> Any:
    """RETURNS (Any): the value without its reason."""
    if not is_marked(value):
        return value
    return next(value[origin] for origin in ORIGINS if origin in value)


def reason(value: Any) -> str:
    """RETURNS (str): the reason for the value; empty if there is none."""
    if not is_marked(value):
        return ""
    origin = next(text for key, text in ORIGINS.items() if key in value)
    if "paper" in value:
        paper = value["paper"]
        shown = paper if isinstance(paper, str) else value_text(paper)
        origin += f" (paper: {shown})"
    return ": ".join(filter(None, [origin, value.get("note")]))


def merge(old: Any, new: Any) -> Any:
    """Override a value or the settings of a block.

    old (Any): value or block of the layers so far.
    new (Any): value or block of the next layer. A block that names a registered
        function replaces the old one. A reason without a value keeps the old value
        and adds to its reason.
    RETURNS (Any): the resulting value or block.
    """
    if is_marked(new) and not set(new) & set(ORIGINS):
        kept = dict(old) if is_marked(old) else {"value": old}
        if "value" in kept:
            kept["own"] = kept.pop("value")
        return {**kept, **new}
    mergeable = all(isinstance(x, dict) and not is_marked(x) for x in (old, new))
    if not mergeable or any(key.startswith("@") for key in new):
        return new
    return {**old, **{k: merge(old[k], v) if k in old else v for k, v in new.items()}}


def split(tree: Tree, section: str = "") -> Tuple[Tree, Comments]:
    """Separate values from their reasons.

    tree (Tree): a block.
    section (str): its name.
    RETURNS (Tuple[Tree, Comments]): the values, and the reasons as comments.
    RAISES (ValueError): for a reason without a value, such as a misspelled setting.
    """
    values: Tree = {}
    comments: Comments = {}
    for key, marked in tree.items():
        name = f"{section}.{key}".strip(".")
        if is_marked(marked) and not set(marked) & set(ORIGINS):
            raise ValueError(f"{name} has no value for the reason {marked}")
        value = values[key] = unmarked(marked)
        if isinstance(value, dict):
            values[key], found = split(value, name)
            comments.update(found)
        if is_marked(marked):
            place = (name, "") if isinstance(value, dict) else (section, key)
            comments.setdefault(place[0], {})[place[1]] = reason(marked)
    return values, comments
