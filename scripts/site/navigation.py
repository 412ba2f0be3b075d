"""The navigation of the site, from that of mkdocs.yml and the pages that exist."""

from typing import Any, List, Sequence

MORE = "More"


def complete(nav: Sequence[Any], pages: Sequence[str]) -> List[Any]:
    """Leave out pages that do not exist, and add those that are not named.

    nav (Sequence[Any]): as in mkdocs.yml; "guides/" stands for all pages of a folder
        that are not named elsewhere.
    pages (Sequence[str]): all pages.
    RETURNS (List[Any]): the same for the pages that exist, the others under "More".
    """
    named = set(names_in(nav))
    rest = sorted(page for page in pages if page not in named)
    found = _existing(nav, pages, rest)
    left = [page for page in rest if page not in set(names_in(found))]
    return [*found, {MORE: left}] if left else found


def names_in(nav: Any) -> List[str]:
    """RETURNS (List[str]): all pages and folders that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        nav = list(nav.values())
    return [name for entry in nav for name in names_in(entry)]


def _existing(nav: Sequence[Any], pages: Sequence[str], rest: List[str]) -> List[Any]:
    """RETURNS (List[Any]): the entries for pages that exist, folders expanded."""
    entries: List[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, value),) = entry.items()
            if isinstance(value, list):
                value = _existing(value, pages, rest)
            elif value.endswith("/"):
                value = _folder(value, rest)
            elif value not in pages:
                value = None
            entries += [{title: value}] if value else []
        elif entry.endswith("/"):
            entries += _folder(entry, rest)
        elif entry in pages:
            entries.append(entry)
    return entries


def _folder(folder: str, rest: List[str]) -> List[str]:
    """RETURNS (List[str]): the pages of a folder, its index first."""
    found = [page for page in rest if page.startswith(folder)]
    return sorted(found, key=lambda page: (not page.endswith("/index.md"), page))
