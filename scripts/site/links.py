"""Links between pages of the repository as links between pages of the site."""

import re
from os.path import normpath, relpath
from pathlib import Path
from typing import Dict, Optional

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages outside of docs, and where the site has them.
OUTSIDE: Dict[str, str] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "assets/demo/DATASHEET.md": "datasheet.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "benchmarks/PANEL.md": "benchmarks/panel.md",
}
# Beginnings of what the site does not have of docs; see `exclude_docs` in mkdocs.yml.
EXCLUDED = ("package.md", "measured/")
BLOCK = re.compile(r"(?ms)(^ *```.*?^ *```$)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def source_of(uri: str) -> str:
    """RETURNS (str): the path of a page in the repository."""
    homes = {page: source for source, page in OUTSIDE.items() if page != "index.md"}
    docs_page = DOCS / uri
    return f"docs/{uri}" if docs_page.is_file() else homes.get(uri, f"docs/{uri}")


def page_of(path: str) -> Optional[str]:
    """RETURNS (Optional[str]): the page of a file; None if the site has none."""
    page = path.removeprefix("docs/")
    if page != path:
        return None if page.startswith(EXCLUDED) else page
    return OUTSIDE.get(path)


def rewrite_links(text: str, uri: str) -> str:
    """Rewrite the links of a page.

    text (str): Markdown.
    uri (str): the page, relative to the site.
    RETURNS (str): the same with links to pages of the site. A link to a file that the
        site does not have becomes the name of the file.
    """
    source = Path(source_of(uri)).parent

    def rewrite(match: re.Match) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        page = page_of(normpath(source / target))
        if page is None:
            name = normpath(source / target)
            return words if words.startswith("`") else f"`{name}`"
        return f"[{words}]({relpath(page, Path(uri).parent)}{anchor})"

    parts = BLOCK.split(text)  # code blocks have odd places
    return "".join(
        part if place % 2 else LINK.sub(rewrite, part)
        for place, part in enumerate(parts)
    )
