"""The page on the mathematics names things as the code does."""

import re

from docs.pages import DOCS, ROOT

PAGE = (DOCS / "mathematics.md").read_text(encoding="utf-8")
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))


def symbols():
    """The rows of the table of symbols: symbol, what it is, name in code, paper."""
    table = PAGE.split("## Symbols")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|")
    ]
    return rows[2:]


def test_every_symbol_has_a_name_that_the_code_uses():
    assert len(symbols()) > 20
    for symbol, _, names, _ in symbols():
        found = re.findall(r"`([^`]+)`", names)
        assert found, symbol
        for name in found:
            for word in re.findall(r"[A-Za-z_]\w*", name):
                assert re.search(rf"\b{word}\b", SOURCES), f"{symbol}: {name}"


def test_every_module_and_name_that_the_page_points_to_exists():
    for path in re.findall(r"`((?:model|inference|embeddings)/(?:\w+/)*\w+\.py)`", PAGE):
        assert (ROOT / "src" / "wordtide" / path).exists(), path
    for owner, name in re.findall(r"`([A-Z]\w+)\.(\w+)`", PAGE):
        assert re.search(rf"class {owner}\b", SOURCES), owner
        assert re.search(rf"\b{name}\b", SOURCES), name
