"""The built page in the package is what its sources build, holds what the package needs, and stays small."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from wordtide.explorer.single_file import built_page, policy

SOURCES = Path(__file__).resolve().parents[2] / "explorer"
LEFT_OUT = {"node_modules", "dist"}


def source_files():
    found = [path for path in SOURCES.rglob("*") if path.is_file()]
    relative = [path.relative_to(SOURCES) for path in found]
    return sorted(
        (path for path in relative if not LEFT_OUT & set(path.parts)),
        key=lambda path: path.as_posix().encode(),
    )


def test_the_built_page_is_not_stale():
    if not (SOURCES / "package.json").is_file():
        pytest.skip("the page's sources are not here: only the built page is")
    digest = hashlib.sha256()
    for path in source_files():
        content = (SOURCES / path).read_bytes()
        digest.update(f"{path.as_posix()}\0{len(content)}\0".encode() + content)
    (stated,) = re.findall(r'<meta name="wordtide-source" content="([0-9a-f]{64})">', built_page())
    assert stated == digest.hexdigest(), "the page is older than its sources: make explorer"


def test_the_page_has_one_script_one_style_and_one_place_for_each_part():
    page = built_page()
    marks = [
        "<!--wordtide:policy-->",
        "<!--wordtide:data-->",
        '<html lang="en">',
        "<script>",
        "</script>",
        "<style>",
    ]
    assert [page.count(mark) for mark in marks] == [1] * len(marks)
    assert page.index("<!--wordtide:policy-->") < page.index("<style>")
    assert page.index("<!--wordtide:data-->") < page.index("<script>")
    assert policy(page, remote=False).count("sha256-") == 2


def test_the_page_asks_for_nothing_outside_and_sets_no_style_by_markup():
    page = built_page()
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", page))
    assert all(
        address.startswith(("http://www.w3.org/", "https://svelte.dev/e/")) for address in addresses
    ), addresses
    body = page.partition("<script>")[0]
    assert not re.search(r"\s(?:src|style|on\w+)=", body)
    assert "eval(" not in page
    assert "new Function" not in page


def test_the_page_without_data_stays_under_100_kb_gzipped():
    assert len(gzip.compress(built_page().encode("utf-8"), 9)) < 100 * 1024


def test_no_source_puts_text_into_the_page_as_markup():
    if not (SOURCES / "package.json").is_file():
        pytest.skip("the page's sources are not here: only the built page is")
    for path in (SOURCES / "src").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"\{@html|innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), (
                path
            )
            assert not re.search(r"<[^>]+\sstyle=", text), path
