"""The documentation site builds without a warning, its links resolve, and its pages
can be read on a screen and on a phone without a network.
"""

import json
import os
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from spacy_spanner.errors import Errors, Warnings

from ..evaluation.report.conftest import browser  # noqa: F401 (a fixture)
from ..test_errors import MESSAGES, codes_of

ROOT = Path(__file__).parents[2]
SCREENS = {
    "desktop": {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    "phone": {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
}
# Attributes that make a browser load something.
LOADED = {"script": "src", "img": "src", "link": "href", "source": "srcset"}


class Reader(HTMLParser):
    """Collects the links, anchors and loaded files of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: List[str] = []
        self.anchors: Set[str] = set()
        self.loaded: List[str] = []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        found: Dict[str, str] = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found and found.get("rel") != "canonical":
            self.loaded.append(found[LOADED[tag]])


class Site(NamedTuple):
    """The site that was built, and its pages by path."""

    folder: Path
    pages: Dict[str, Reader]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Build the site as `mkdocs build --strict` does, which stops at a warning."""
    pytest.importorskip("material", reason="the extra docs is not installed")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    build(config)
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        reader = Reader()
        reader.feed(path.read_text(encoding="utf8"))
        pages[path.relative_to(folder).as_posix()] = reader
    return Site(folder, pages)


def test_site_has_all_its_pages(site: Site) -> None:
    docs = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"package"}
    assert docs <= {Path(page).stem for page in site.pages}
    made = {"commands.html", "errors.html", "api/index.html", "changelog.html"}
    assert made <= set(site.pages)


def test_every_page_is_in_the_navigation(site: Site) -> None:
    text = (site.folder / "index.html").read_text(encoding="utf8")
    assert ">\n  More\n" not in text and 'aria-label="More"' not in text
    start = site.pages["index.html"]
    reached = {urldefrag(link).url for link in start.links}
    assert len(reached) > 30
    assert [page for page in site.pages if page not in reached | {"404.html"}] == []


def test_links_and_anchors_resolve(site: Site) -> None:
    broken = []
    for page, reader in site.pages.items():
        for link in reader.links:
            if "://" in link or link.startswith(("mailto:", "javascript:")):
                continue
            target, anchor = urldefrag(urljoin(page, unquote(link)))
            if page == "404.html":
                continue  # its links are those of a site at the root of its host
            if not (site.folder / target).is_file() or (
                anchor and anchor not in site.pages[target].anchors
            ):
                broken.append((page, link))
    assert broken == []


def test_pages_load_nothing_from_elsewhere(site: Site) -> None:
    for page, reader in site.pages.items():
        assert [one for one in reader.loaded if "//" in one] == [], page
        for one in reader.loaded:
            target = urldefrag(urljoin(page, one)).url
            if not one.startswith("data:") and page != "404.html":
                assert (site.folder / target).is_file(), (page, one)
    for sheet in site.folder.rglob("*.css"):
        text = sheet.read_text(encoding="utf8")
        assert "url(http" not in text and "url(//" not in text, sheet


def test_site_is_its_pages_only(site: Site) -> None:
    endings = {path.suffix for path in site.folder.rglob("*") if path.is_file()}
    assert not endings & {".py", ".cfg", ".ipynb", ".pyc"}


def test_every_code_has_a_section(site: Site) -> None:
    anchors = site.pages["errors.html"].anchors
    assert [code for code in MESSAGES if code.lower() not in anchors] == []
    notes = json.loads((ROOT / "scripts/site/error_notes.json").read_text("utf8"))
    assert set(notes) <= set(MESSAGES)
    assert len(MESSAGES) == len(codes_of(Errors)) + len(codes_of(Warnings))


def test_public_names_and_registered_functions_have_pages(site: Site) -> None:
    import spacy_spanner

    text = (site.folder / "api" / "registered.html").read_text(encoding="utf8")
    for name in spacy_spanner.__all__:
        assert f"api/{name}.html" in site.pages or name == "__version__"
    for name in ("spacy_spanner.AdamW.v1", "spacy_spanner.Biaffine.v1", "span_offset"):
        assert name in text


# ------------------------------------------------------------------ in a browser


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Site) -> Iterator[str]:
    """The address of a server of the site on this machine."""
    handler = partial(QuietHandler, directory=str(site.folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS)
def test_pages_fit_the_screen_without_complaints(
    screen: str,
    site: Site,
    address: str,
    browser: Any,  # noqa: F811
) -> None:
    command = browser.driver.execute_cdp_cmd
    command("Emulation.setDeviceMetricsOverride", SCREENS[screen])
    # Pages keep the scheme, which they may store at any time, also when it changes.
    forget = {"source": "location.protocol == 'about:' || localStorage.clear()"}
    command("Page.addScriptToEvaluateOnNewDocument", forget)
    wide = []
    for place, page in enumerate(site.pages):
        browser.driver.get("about:blank")
        scheme = {"name": "prefers-color-scheme", "value": ["light", "dark"][place % 2]}
        command("Emulation.setEmulatedMedia", {"features": [scheme]})
        browser.driver.get(f"{address}/{page}")
        chosen = browser.run("document.body.dataset.mdColorScheme")
        assert chosen == ["default", "slate"][place % 2], page
        seen = browser.run("[document.documentElement.scrollWidth, window.innerWidth]")
        if seen[0] > seen[1] or seen[1] != SCREENS[screen]["width"]:
            wide.append((page, *seen))
    assert wide == []
    assert browser.complaints() == []


@pytest.mark.slow
def test_pictures_and_search_work(address: str, browser: Any) -> None:  # noqa: F811
    browser.driver.get(f"{address}/index.html")
    loaded = (
        "[...document.images].map(one => one.naturalWidth > 0 || !one.offsetParent)"
    )
    assert all(browser.run(loaded))
    shown = "[...document.images].filter(one => one.offsetParent).map(one => one.src)"
    assert any("example" in source for source in browser.run(shown))
    browser.driver.get(f"{address}/index.html?q=SP003")
    script = "document.querySelectorAll('.md-search-result__item').length"
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
    wait(browser.driver, 20).until(lambda _: browser.run(script) > 0)
