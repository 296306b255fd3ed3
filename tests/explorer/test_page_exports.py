"""What a figure hands out opens again, and holds the numbers that the figure shows."""

import csv
import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from explorer.page_driving import opened, single_file_of
from explorer.page_world import HOSTILE, SHOWN, TIMES, World
from PIL import Image

from wordtide.storage.cells import spelled_out, text_cell

pytestmark = pytest.mark.slow

WORLD = World()
SVG = "{http://www.w3.org/2000/svg}"
#: Addresses, what to wait for, and the titles of the figures there.
PLACES = {
    "#/": (".card path.thick", ["Text in each period"]),
    "#/word/energy": (
        ".passer",
        [
            "Similarity of energy to other words",
            "Nearest to energy over time",
            "Words nearest to energy",
        ],
    ),
    "#/changed": (".changedWord", ["Words", "How much all words moved"]),
    "#/divided": (".groupNames li", ["Words", "How groups use solar"]),
    "#/compare?words=energy,__proto__,مرحبا": (".pairName", ["Similarity of each pair"]),
    "#/compare?how=poles&words=nurse&from=he&to=she": (".pole", ["Between he and she"]),
    "#/map?words=energy": ("canvas", ["Close words are used alike: 2000"]),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with opened(
        single_file_of(tmp_path_factory.mktemp("exports")), permissions=["clipboard-read", "clipboard-write"]
    ) as found:
        yield found


def saved(page, title, kind):
    with page.page.expect_download() as waiting:
        pick(page, title, kind)
    download = waiting.value
    return download.suggested_filename, Path(download.path()).read_bytes()


def pick(page, title, name):
    """Choose from the menu of a figure, which is closed before and after."""
    figure = page.page.get_by_role("region", name=title, exact=True)
    assert figure.get_by_role("button", name=name, exact=True).count() == 0
    figure.locator(".menu > button").click()
    figure.get_by_role("button", name=name, exact=True).click()
    assert figure.locator(".menuItems").is_hidden()


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


@pytest.mark.parametrize("route", PLACES)
def test_every_figure_is_saved_as_png_svg_and_csv_and_shown_as_a_table(page, route):
    selector, titles = PLACES[route]
    page.go(route).page.wait_for_selector(selector)
    page.wait("!document.querySelector('main').textContent.includes('so far')")
    for title in titles:
        name, png = saved(page, title, "PNG")
        picture = Image.open(io.BytesIO(png))
        picture.load()
        assert name.endswith(".png")
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20  # something is drawn
        name, svg = saved(page, title, "SVG")
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert name.endswith(".svg")
        texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert any("A world <b>of</b> tests" in text for text in texts)
        assert not [
            element
            for element in root.iter()
            if element.tag in (f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject")
        ]
        _, table = saved(page, title, "CSV")
        rows = rows_of(table)
        figure = page.page.get_by_role("region", name=title, exact=True)
        pick(page, title, "Show as a table")
        assert figure.locator("tbody tr").count() == min(len(rows), 400) > 0
        columns = figure.locator("th").all_inner_texts()
        if "time" in columns:  # dates, not 1825.5
            column = figure.locator(f"tbody td:nth-child({columns.index('time') + 1})")
            assert set(column.all_inner_texts()) <= {*SHOWN, "2010"}
        pick(page, title, "Show the figure")


def test_the_table_of_similarities_has_the_numbers_of_the_page(page):
    page.go("#/word/energy?with=oil,__proto__").page.wait_for_selector(".end")
    page.wait("document.querySelectorAll('.wordView .end').length === 2")
    _, content = saved(page, "Similarity of energy to other words", "CSV")
    rows = rows_of(content)
    assert [row["other"] for row in rows] == ["oil"] * len(TIMES) + ["__proto__"] * len(TIMES)
    for other in ("oil", "__proto__"):
        told = page.ask("other => wordtide.similarity('energy', other)", other)
        mine = [row for row in rows if row["other"] == other]
        for name in ("time", "similarity", "low", "high"):
            assert [float(row[name]) for row in mine] == [point[name] for point in told]
        counts = WORLD.occurrences[[WORLD.number("energy"), WORLD.number(other)]]
        assert [
            [int(row[name]) for row in mine] for name in ("occurrences", "other_occurrences")
        ] == counts.tolist()


def test_the_table_of_neighbors_has_their_probabilities(page):
    page.go("#/word/peace?t=1950").page.wait_for_selector(".panel a.row")
    page.wait("[...document.querySelectorAll('.panel')].every(panel => panel.textContent.includes('%'))")
    _, content = saved(page, "Words nearest to peace", "CSV")
    rows = [row for row in rows_of(content) if row["period"] == "chosen"]
    told = page.ask("wordtide.neighbors('peace', '1950', 10)")
    assert [row["word"] for row in rows] == [near["word"] for near in told]
    for name in ("similarity", "low", "high", "probability"):
        assert np.allclose([float(row[name]) for row in rows], [near[name] for near in told], atol=1e-12)
    assert [row["inferred"] for row in rows] == [str(near["inferred"]) for near in told]
    assert {row["inferred"] for row in rows} == {"True", "False"}


def test_a_picture_of_neighbors_says_what_the_asterisk_means(page):
    page.go("#/word/peace?t=1950").page.wait_for_selector(".panel a.row")
    page.wait("[...document.querySelectorAll('.panel')].every(panel => panel.textContent.includes('%'))")
    _, svg = saved(page, "Words nearest to peace", "SVG")
    texts = ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert texts[-1] == "* inferred: the word does not occur near that time"
    assert any(text.endswith("*") for text in texts)


def test_the_table_of_neighbors_over_time_says_where_they_are_inferred(page):
    page.go("#/word/peace").page.wait_for_selector(".passer")
    page.wait("!document.querySelector('main').textContent.includes('so far')")
    _, content = saved(page, "Nearest to peace over time", "CSV")
    rows = rows_of(content)
    numbers = {text_cell(spelled_out(word)): number for number, word in enumerate(WORLD.words)}
    inferred = {time: WORLD.inferred(place) for place, time in enumerate(TIMES)}
    assert {row["inferred"] for row in rows} == {"True", "False"}
    assert all(row["inferred"] == str(inferred[float(row["time"])][numbers[row["word"]]]) for row in rows)


def test_the_table_of_changed_words_keeps_hostile_words_and_spells_out_what_cannot_be_seen(page):
    page.go("#/changed").page.wait_for_selector(".changedWord")
    _, content = saved(page, "Words", "CSV")
    rows = rows_of(content)
    assert [row["word"] for row in rows] == [text_cell(spelled_out(word)) for word in WORLD.words]
    assert {text_cell(spelled_out(word)) for word in HOSTILE} <= {row["word"] for row in rows}
    columns = WORLD.changed()["columns"]
    assert [float(row["change"]) for row in rows] == columns["change"]
    assert [[float(row["since"]), float(row["until"])] for row in rows] == [
        [WORLD.story(number)["since"], WORLD.story(number)["until"]] for number in range(len(WORLD.words))
    ]
    assert {row["significant"] for row in rows} == {"True"}
    for name in ("verdict", "shape", "date", "date_low", "date_high", "second_date", "effect"):
        assert [row[name] for row in rows] == ["" if one is None else str(one) for one in columns[name]]


def test_a_copied_link_leads_back(page):
    page.go("#/word/energy?t=1950&with=oil,skill").page.wait_for_selector(".end")
    page.page.keyboard.press("ArrowRight")
    pick(page, "Words nearest to energy", "Copy link")
    page.page.wait_for_selector("text=Link copied")
    assert page.ask("navigator.clipboard.readText()") == f"{page.address}#/word/energy?t=1975&with=oil,skill"


def test_the_map_as_a_table_has_the_trail_of_the_chosen_word(page):
    page.go("#/map?words=energy").page.wait_for_selector("canvas")
    _, content = saved(page, "Close words are used alike: 2000", "CSV")
    frames = WORLD.map()
    expected = [["energy", frames["x"][frame][0], frames["y"][frame][0]] for frame in range(3)]
    assert [[row["word"], float(row["x"]), float(row["y"])] for row in rows_of(content)] == expected


def test_a_menu_closes_by_escape_and_by_a_press_elsewhere(page):
    page.go("#/compare?how=poles&words=nurse&from=he&to=she").page.wait_for_selector(".pole")
    opener = page.page.locator(".menu > button").first
    for close in (lambda: page.page.keyboard.press("Escape"), lambda: page.page.mouse.click(5, 500)):
        opener.click()
        assert opener.get_attribute("aria-expanded") == "true"
        close()
        assert opener.get_attribute("aria-expanded") == "false"
        assert page.page.locator(".menuItems").first.is_hidden()
