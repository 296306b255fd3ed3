"""The site builds without a warning, its links lead somewhere, and it needs no network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from docs.pages import DOCS, ROOT

pytest.importorskip("sphinx")


class Page(HTMLParser):
    """The links, the anchors and the things loaded by a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages, the notebook without what it would show (test_notebook.py runs it)."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "-D", "nb_execution_mode=off"]
    line = [sys.executable, "-m", "sphinx", *options, "--builder", "html", str(DOCS), str(folder / "html")]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    return {path.name: Page(path) for path in site.glob("*.html")}


def test_every_page_is_there(pages):
    for source in [*DOCS.glob("*.md"), *DOCS.glob("*.ipynb")]:
        assert f"{source.stem}.html" in pages


def test_links_within_the_site_lead_to_pages_and_places_that_exist(site, pages):
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = unquote(parts.path) or name
            assert (site / target).exists(), f"{name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{name}: {link}"


def test_the_first_page_leads_to_the_quickstart(pages):
    assert "quickstart.html" in pages["index.html"].links


def test_pages_load_nothing_from_elsewhere(site, pages):
    for name, page in pages.items():
        for source in page.loaded:
            assert not urlsplit(source).netloc, f"{name}: {source}"
    for sheet in site.rglob("*.css"):
        assert not re.search(
            r"url\(['\"]?https?:|@import ['\"]?https?:", sheet.read_text(encoding="utf-8")
        ), sheet


def test_the_reference_has_every_public_name_and_its_methods(pages):
    anchors = pages["python.html"].anchors
    for name in (
        "wordtide.count",
        "wordtide.fit",
        "wordtide.load",
        "wordtide.Counts",
        "wordtide.NoteWarning",
    ):
        assert name in anchors
    for method in (
        "neighbors",
        "similarity",
        "changed",
        "story",
        "surprises",
        "axis",
        "analogy",
        "mean",
        "at",
        "save",
    ):
        assert f"wordtide.DynamicEmbeddings.{method}" in anchors
