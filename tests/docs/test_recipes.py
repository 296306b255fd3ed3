"""Every recipe runs as it is typed, in a folder with what it names."""

import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli.command_line import run
from docs.pages import DOCS, fenced_blocks
from office_files import docx

import wordtide

PAGE = DOCS / "recipes.md"


def sections():
    """The commands of each recipe, by its heading."""
    found = {}
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        found[part.splitlines()[0]] = re.findall(r"^    ((?:wordtide|ssh) .+?) *$", part, re.M)
    return found


def write(name, content):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def odd_folder():
    for name in ("MS 1234 fol 12, 1899-05.txt", "1984 by Orwell, 1949.txt"):
        write(f"papers/{name}", "Steam power and steam engines.")
    write("papers/Vol 3 p 1000 (1902).docx", docx("Steam power and steam engines."))


def excel_export():
    write("export.csv", "Nr;Datum;Inhalt\r\n1;36525;Grüße, Köln\r\n2;36891;Schöne Grüße\r\n".encode("cp1252"))


def tweets():
    dates = ("Wed Aug 27 13:08:45 +0000 2008", "Thu Sep 11 08:00:00 +0000 2008")
    rows = [{"created_at": date, "text": "RT @bob: the fish &amp; the chips"} for date in dates]
    write("tweets.json", json.dumps(rows, indent=1))
    write("stop.txt", "The\n")


def german_letters():
    write("briefe/Brief 12.03.1901.txt", "Die Grüße aus Köln waren schön.".encode("cp1252"))
    write("briefe/Brief 5. März 1902.docx", docx("Viele Grüße aus München."))
    write("briefe/Brief 1903.txt", "Grüße".encode("utf-16"))


def chinese():
    write("texts/1999.txt", "我来到北京清华大学。我们今天在学校读书，北京很大。")
    write("chinese.py", next(block.code for block in fenced_blocks(PAGE) if "jieba" in block.code))


#: What a recipe finds in the current folder, and what its counts must hold: slices and some words.
RECIPES = {
    "An oddly named folder": (odd_folder, ["1890-1899", "1900-1909", "1940-1949"], {"steam"}),
    "An Excel export": (excel_export, ["1999", "2000"], {"grüße", "köln"}),
    "Tweets": (tweets, ["2008-08-25", "2008-09-08"], {"fish", "chips"}),
    "German letters": (german_letters, ["1901-Q1", "1902-Q1", "1903-Q3"], {"grüße", "köln", "münchen"}),
    "Chinese, Japanese or Thai": (chinese, ["1999"], {"北京", "学校"}),
}
#: Recipes that need more than the tests install.
NEEDS = {"Chinese, Japanese or Thai": "jieba"}
#: Recipes about models: test_recipes_with_a_model.py runs them.
ELSEWHERE = {
    "A data frame",
    "R",
    "A notebook",
    "A remote server",
    "Ctrl-C and resume",
    "The sentences behind a claim",
}


def test_every_recipe_has_one_to_three_commands_and_a_test():
    found = sections()
    assert set(found) == set(RECIPES) | ELSEWHERE
    assert all(1 <= len(lines) <= 3 for name, lines in found.items() if name in RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs(name, tmp_path, monkeypatch):
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    prepare, slices, words = RECIPES[name]
    prepare()
    for line in sections()[name]:
        done = run(*shlex.split(line)[1:])
        assert done.code == 0, done.err
    counts = wordtide.Counts.load("counts")
    assert counts.labels == slices
    assert words <= set(counts.words)
    assert not {"rt", "bob", "amp", "the"} & set(counts.words)


@pytest.mark.parametrize(
    ("package", "module", "text", "expected"),
    [
        ("jieba", "chinese", "我来到北京清华大学。", ["我", "来到", "北京", "清华大学"]),
        ("fugashi", "japanese", "吾輩は猫である。", ["吾輩", "は", "猫", "で", "ある"]),
        ("pythainlp", "thai", "คนไทยรักประเทศไทย", ["คนไทย", "รัก", "ประเทศ", "ไทย"]),
    ],
)
def test_the_tokenizers_split_words(package, module, text, expected):
    pytest.importorskip(package)
    code = next(block.code for block in fenced_blocks(PAGE) if f"{package}" in block.code)
    space = {}
    exec(compile(code, f"{module}.py", "exec"), space)
    assert list(space["words"](text)) == expected
