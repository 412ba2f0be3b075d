"""Hooks of `mkdocs build`: pages from the code, the navigation, links and pictures."""

import sys
from pathlib import Path
from typing import Any, Dict

# MkDocs loads this file alone, without its folder.
sys.path.insert(0, str(Path(__file__).parent))

import api_pages
import command_page
import error_page
import navigation
import notebook_pages
from links import DOCS, OUTSIDE, ROOT, rewrite_links
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pictures import both_themes


def made_pages() -> Dict[str, str]:
    """RETURNS (Dict[str, str]): the Markdown of all pages that are not in docs."""
    pages = {
        "commands.md": command_page.make_page(),
        "errors.md": error_page.make_page(),
        **api_pages.make_pages(),
        **notebook_pages.make_pages(DOCS / "notebooks"),
    }
    for source, page in OUTSIDE.items():
        path = ROOT / source
        if path.is_file() and not (DOCS / page).is_file():
            pages[page] = path.read_text(encoding="utf8")
    return pages


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages that are made, and complete the navigation."""
    for uri, text in made_pages().items():
        files.append(File.generated(config, uri, content=text))
    pages = [file.src_uri for file in files.documentation_pages()]
    config.nav = navigation.complete(config.nav or [], pages)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links and pictures those of the site."""
    return both_themes(rewrite_links(markdown, page.file.src_uri))
