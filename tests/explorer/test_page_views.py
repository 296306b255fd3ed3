"""Every view of the page, its keys and its addresses, in a real browser."""

import re

import numpy as np
import pytest
from explorer.page_driving import chromium, folder_served, opened, single_file_of
from explorer.page_world import DIVIDED, GROUPS, HOSTILE, LEFT_OUT, SHOWN, TIMES, UNSURE, WORDS, World

from wordtide.questions.similarity import similarities

pytestmark = pytest.mark.slow

WORLD = World()
#: The verdicts of words by turns, in short.
VERDICTS = ["gradual, 1875–1900", "jump in 1890", "jumps in 1890 and 1951", "burst, 1890–1951"]
#: The different colors of lines and links.
INKS = """[...new Set([...document.querySelectorAll('.wordView .thick, h1 a')].map(one =>
    getComputedStyle(one)[one.localName === 'a' ? 'textDecorationStyle' : 'stroke']))].filter(one => one !== 'solid')"""
#: All columns of neighbors over time are worked out.
PASSED = "document.querySelectorAll('.passer').length > 5 && !document.querySelector('main').textContent.includes('so far')"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return single_file_of(tmp_path_factory.mktemp("views"))


@pytest.fixture
def page(address):
    with opened(address) as found:
        yield found


def test_the_start_has_the_field_in_focus_the_cards_and_the_strip(page):
    assert page.ask("document.activeElement.id") == "first-field"
    assert page.page.locator(".card").count() == 12
    assert page.text(".start section > h2").startswith("Most changed")
    assert page.page.locator(".card.quiet").count() == 0
    assert page.page.locator(".card .sure").all_inner_texts()[:4] == [
        "gradual, 1875–1900 · changed a lot",
        "jump in 1890 · changed a lot",
        "jumps in 1890 and 1951 · changed a lot",
        "burst, 1890–1951 · changed a lot",
    ]
    assert page.text(".card .moved") == "→".join(
        f"{side[0]} " if number == 0 else f" {side[0]}"
        for number, side in enumerate((_story(12)["from"], _story(12)["to"]))
    )
    assert (
        page.page.get_by_role("img", name=re.compile("Words of text per period, from 17 to 4,000")).count()
        == 1
    )


def test_a_typed_word_leads_to_its_story(page):
    page.page.keyboard.type("ener")
    assert page.text("[role=option]").startswith("energy")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".wordView .end")
    assert page.text("h1") == _headline(0)
    assert page.page.title() == "energy · A world <b>of</b> tests"
    assert page.ask("location.hash") == "#/word/energy"


def test_a_words_page_shows_curves_with_bands_neighbors_and_the_passage_of_neighbors(page):
    page.go("#/word/energy")
    page.page.wait_for_selector(".ramp")
    assert page.page.locator(".wordView .band").count() == 4
    assert page.page.locator(".wordView .end").all_text_contents() == ["skill", "vigor", "power", "courage"]
    panels = page.page.locator(".panel")
    assert [panels.nth(number).locator(".when").inner_text() for number in range(3)] == [
        "1825",
        SHOWN[_nearest_use(0, TIMES.index(1900.5))],
        "2000",
    ]
    assert panels.nth(0).locator("a.row").count() == 10
    page.wait("document.querySelectorAll('.panel')[0].textContent.includes('%')")
    page.wait(
        "document.querySelectorAll('.passer').length > 5 && !document.querySelector('main').textContent.includes('so far')"
    )
    page.page.wait_for_selector(".examples li")


def test_words_of_the_sentence_are_links_to_their_own_stories(page):
    page.go("#/word/energy")
    page.page.locator("h1 a.from").first.click()
    page.wait("location.hash === '#/word/skill'")
    page.page.go_back()
    page.wait("location.hash === '#/word/energy'")
    page.wait("sentence => document.querySelector('h1').textContent === sentence", _headline(0))


def test_a_neighbor_is_a_link_to_its_story_at_that_time(page):
    page.go("#/word/energy?t=1950")
    link = page.page.locator(".panel").nth(1).locator("a.row").first
    link.click()
    page.wait("/^#\\/word\\/.*t=1950/.test(location.hash) && !location.hash.startsWith('#/word/energy')")


def test_the_old_use_and_the_new_one_stand_below_the_headline(page):
    page.go("#/word/energy").page.wait_for_selector(".uses blockquote")
    quotes = page.page.locator(".uses blockquote").all_inner_texts()
    assert quotes[0] == "Once upon energy & light."
    assert quotes[1].startswith("Today energy is all. ")
    assert quotes[1].endswith("…")
    assert page.page.locator(".uses mark").all_inner_texts() == ["energy"] * 2
    assert page.page.locator(".uses figcaption").all_inner_texts() == [
        "Old use · 1825 · <i>South</i> · A-1",
        "New use · 2000 · <i>South</i> · A-1",
    ]
    figure = page.page.locator(".wide .figure").first.bounding_box()
    assert page.page.locator(".uses").bounding_box()["y"] < figure["y"]


def test_values_of_all_lines_are_read_by_pointer_and_by_keys(page):
    page.go("#/word/energy?t=1850&with=oil,skill")
    page.wait("document.querySelectorAll('.wordView .end').length === 2")
    told = {word: page.ask("word => wordtide.similarity('energy', word)", word) for word in ("oil", "skill")}

    def expected(place):
        rows = sorted(told.items(), key=lambda one: -one[1][place]["similarity"])
        numbers = (
            (word, *(f"{at[place][name]:.2f}".replace("-", "−") for name in ("similarity", "low", "high")))
            for word, at in rows
        )
        return [f"{word} {value} {low} to {high}" for word, value, low, high in numbers]

    def read():
        rows = page.page.locator(".readout div").evaluate_all(
            "rows => rows.map(row => [...row.children].slice(1).map(one => one.textContent).join(' '))"
        )
        return page.text(".readout b"), rows

    assert page.page.locator(".readout").count() == 0
    box = page.page.locator(".hand").first.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 40)
    assert read() == (SHOWN[-1], expected(len(TIMES) - 1))
    page.page.mouse.move(5, 5)
    assert page.page.locator(".readout").count() == 0
    page.page.locator("[role=slider]").focus()
    assert read() == ("1850", expected(2))
    page.page.keyboard.press("End")
    page.wait("document.querySelector('.readout b').textContent === '2000'")
    assert read() == (SHOWN[-1], expected(len(TIMES) - 1))


def test_no_axis_is_drawn_before_the_data_are_complete(tmp_path):
    with folder_served(tmp_path, WORLD.remote()) as address, opened(address, "#/about") as page:
        waiting, free = [], []
        page.page.route(
            re.compile("/(words|slices)/"), lambda route: route.continue_() if free else waiting.append(route)
        )
        page.go("#/word/energy").page.wait_for_selector(".verdict")
        page.wait("document.querySelectorAll('.wide .skeleton').length > 0")
        assert page.page.locator(".wide .tick, .side .tick, .wide .grid").count() == 0
        free.append(True)
        for route in waiting:
            route.continue_()
        page.page.wait_for_selector(".wordView .end")
        page.wait(PASSED)
        assert page.page.locator(".wide .skeleton").count() == 0


def test_unlikely_neighbors_are_faint(page):
    page.go("#/word/energy?t=1900").page.wait_for_selector(".panel a.row")
    page.wait("document.querySelectorAll('.panel')[1].textContent.includes('%')")
    told = page.ask("wordtide.neighbors('energy', '1900', 10)")
    rows = page.page.locator(".panel").nth(1).locator("g:has(> a.row)")
    faint = rows.evaluate_all("rows => rows.map(row => row.classList.contains('faint'))")
    assert faint == [near["faint"] or near["probability"] < 0.1 for near in told]


def test_comparing_opens_with_a_word_that_changed_and_poles_are_explained(page):
    page.go("#/compare").page.wait_for_selector(".end")
    beside = _story(12)["beside"]
    chosen = page.page.get_by_role("list", name="With").locator("bdi").all_text_contents()
    assert chosen == [*beside[:2], *beside[-2:]]
    assert page.page.locator(".end").count() == 4
    page.page.get_by_role("button", name="between two poles").click()
    assert "such as man – woman" in page.text(".lead")


def test_the_map_opens_with_a_trail_and_without_function_words(page):
    page.go("#/map").page.wait_for_selector("canvas")
    assert page.page.locator(".wordList .chips bdi").count() == 1
    before = page.ask("document.querySelector('canvas').toDataURL()")
    page.page.get_by_label("function words").check()
    page.wait("before => document.querySelector('canvas').toDataURL() !== before", before)
    page.page.get_by_role("button", name="Leave out").click()
    page.wait("document.querySelectorAll('.wordList .chips bdi').length === 0")
    box = page.page.locator("canvas").bounding_box()
    assert box["y"] + box["height"] < 800  # of the window


def test_arrows_go_through_time_also_where_two_slices_are_shown_alike(page):
    page.go("#/word/energy?t=1850")
    page.page.wait_for_selector("[role=slider]")
    seen = []
    for _ in range(4):
        seen.append(page.page.locator("[role=slider]").get_attribute("aria-valuenow"))
        page.page.keyboard.press("ArrowRight")
    assert seen == ["2", "3", "4", "5"]
    page.page.keyboard.press("ArrowLeft")
    page.wait("location.hash.includes('t=1900')")


def test_pressing_in_a_figure_moves_the_cursor(page):
    page.go("#/word/energy")
    page.page.wait_for_selector(".hand")
    box = page.page.locator(".hand").first.bounding_box()
    page.page.mouse.click(box["x"] + 1, box["y"] + 40)
    assert page.page.locator("[role=slider]").get_attribute("aria-valuetext") == SHOWN[0]
    page.page.mouse.move(box["x"] + 1, box["y"] + 40)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 40, steps=4)
    page.page.mouse.up()
    assert page.page.locator("[role=slider]").get_attribute("aria-valuetext") == SHOWN[-1]


def test_keys_search_help_and_escape(page):
    page.go("#/about")
    page.page.keyboard.press("?")
    assert page.page.locator("dialog[open]").count() == 1
    page.page.keyboard.press("Escape")
    assert page.page.locator("dialog[open]").count() == 0
    page.page.keyboard.press("/")
    assert page.ask("document.activeElement.id") == "search"
    page.page.keyboard.type("?/")
    assert page.page.locator("#search").input_value() == "?/"
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")
    assert page.ask("document.activeElement.id") != "search"


def test_words_beside_the_curve_can_be_left_out_and_added_and_the_address_keeps_them(page, address):
    page.go("#/word/energy?t=1950")
    page.page.get_by_role("button", name="Leave out skill").click()
    page.page.get_by_role("combobox", name="Add a word to the figure").fill("oil")
    page.page.keyboard.press("Enter")
    page.wait("location.hash.includes('oil')")
    hash_ = page.ask("location.hash")
    assert hash_ == "#/word/energy?t=1950&with=vigor,power,courage,oil"
    with opened(address, hash_) as again:
        again.page.wait_for_selector(".wordView .end")
        assert again.page.locator(".wordView .end").all_text_contents() == [
            "vigor",
            "power",
            "courage",
            "oil",
        ]
        assert again.page.locator("[role=slider]").get_attribute("aria-valuetext") == "1950"


def test_an_unknown_word_is_answered_with_what_was_meant(page):
    page.go("#/word/enrgy")
    assert "“enrgy” is not among the" in page.text("h1")
    assert page.text(".meant a") == "energy"
    assert "12 rarer words" in page.text("main")
    page.go("#/word/qqqqqqqqqqqqqqqq")
    assert page.page.locator(".meant a").count() > 5


def test_the_most_changed_words_can_be_found_and_put_into_order(page):
    page.go("#/changed")
    page.page.wait_for_selector(".changedWord")
    assert page.page.locator(".changedWord").first.text_content() == "energy"
    page.page.get_by_label("Order").select_option("occurrences")
    highest = max(
        range(len(WORLD.words)), key=lambda number: WORLD.changed()["columns"]["occurrences"][number]
    )
    assert page.page.locator(".row").first.get_attribute("aria-label").startswith(f"{WORLD.words[highest]}: ")
    page.page.get_by_label("Find").fill("NURSE")
    assert all(
        "nurse" in label
        for label in page.page.locator(".row").evaluate_all("rows => rows.map(row => row.ariaLabel)")
    )
    page.wait("location.hash === '#/changed?sort=occurrences&find=NURSE'")
    assert page.page.get_by_role("img", name=re.compile("How much 171 words moved")).count() == 1


def test_each_changed_word_has_the_time_of_its_own_story(page):
    page.go("#/changed")
    page.page.wait_for_selector(".changedWord")
    labels = page.page.locator(".changedList .row").evaluate_all("rows => rows.map(row => row.ariaLabel)")
    verdicts = page.page.locator(".changedList .row").evaluate_all(
        "rows => rows.map(row => row.querySelector('.when').textContent)"
    )
    spans = [WORLD.span(number) for number in range(len(labels))]
    assert len(set(spans)) > 3
    assert verdicts == (VERDICTS * len(verdicts))[: len(verdicts)]
    for label, verdict, (first, last) in zip(labels, verdicts, spans, strict=True):
        assert f": {verdict}, " in label
        assert f", between {SHOWN[first]} and {SHOWN[last]}, from " in label
    assert page.page.locator(".notice, .row.quiet").count() == 0
    rows = page.page.locator(".changedList .row")
    drawn = [(rows.nth(n).locator(".jump").count(), rows.nth(n).locator(".ramp").count()) for n in range(4)]
    assert drawn == [(0, 1), (1, 0), (2, 0), (2, 0)]
    assert page.page.get_by_label("Order").locator("option").first.inner_text() == "most changed"


def test_a_words_page_says_its_verdict_and_draws_it(page):
    expected = {
        0: ("Gradual change", "Changed a lot.", None, (0, 1)),
        1: ("Jump", "Changed a lot.", "Likely range of the date: 1875–1900.", (1, 0)),
        2: ("Two jumps", "Changed a lot.", "Likely range of the first date: 1875–1900.", (2, 0)),
        3: ("Burst and return", "Changed a lot.", "Likely range of the first date: 1875–1900.", (2, 0)),
    }
    for number, (name, amount, range_, drawn) in expected.items():
        page.go(f"#/word/{WORLD.words[number]}")
        page.wait("word => document.querySelector('h1 b')?.textContent === word", WORLD.words[number])
        page.page.wait_for_selector(".wordView .end")
        told = page.text(".verdict")
        assert told.startswith(name)
        assert amount in told
        assert (range_ or "uses in") in told
        assert ("Likely range" in told) == (range_ is not None)
        chart = page.page.get_by_role("region", name=f"Similarity of {WORLD.words[number]} to other words")
        assert (chart.locator(".jump").count(), chart.locator(".ramp").count()) == drawn
        assert page.page.locator(".wordView.quiet").count() == 0
    assert "bits" not in page.text(".verdict")
    page.page.get_by_text("In numbers").click()
    assert "0.28 bits a use" in page.text(".numbers")


def test_where_no_word_surely_changed_the_page_says_so(tmp_path):
    with opened(single_file_of(tmp_path, _unsure)) as page:
        page.page.wait_for_selector(".card.quiet")
        section = page.page.get_by_role("region", name="No significant change")
        assert section.locator(".note").inner_text() == UNSURE
        assert section.locator(".card .sure").all_inner_texts() == ["no significant change"] * 12
        page.go("#/changed").page.wait_for_selector(".changedWord")
        assert page.text(".notice") == UNSURE
        rows = page.page.locator(".changedList .row")
        assert rows.count() == page.page.locator(".changedList .row.quiet").count() == 40
        assert all(
            "no significant change" in text
            for text in rows.evaluate_all("rows => rows.map(row => row.textContent)")
        )
        assert all(
            "changed not significantly" in text
            for text in rows.evaluate_all("rows => rows.map(row => row.ariaLabel)")
        )
        options = page.page.get_by_label("Order").locator("option").all_inner_texts()
        assert options == ["most changed", "frequency", "alphabet"]
        page.go("#/word/energy").page.wait_for_selector(".wordView .end")
        assert page.page.locator(".wordView.quiet").count() == 1
        assert page.text(".verdict").startswith("No significant change")
        assert page.text("h1").startswith(
            "energy shows no significant change between 1825 and 2000. Near it: "
        )
        assert page.page.locator(".jump, .ramp, .likely, .during").count() == 0
        assert len(page.ask(INKS)) == 1  # gray


def test_neighbors_that_do_not_occur_near_the_time_are_marked_as_inferred(page):
    page.go("#/word/energy?t=1900").page.wait_for_selector(".panel a.row")
    page.wait("document.querySelectorAll('.panel')[2].querySelectorAll('a.row').length === 10")
    told = page.ask("wordtide.neighbors('energy', '1900', 10)")
    rows = page.page.locator(".panel").nth(1).locator("a.row")
    assert {near["inferred"] for near in told} == {True, False}
    for place, near in enumerate(told):
        row = rows.nth(place)
        assert row.get_attribute("aria-label").startswith(f"{near['word']}, similarity")
        assert row.get_attribute("aria-label").endswith(", inferred") == near["inferred"]
        assert row.locator(".name").text_content().endswith("*") == near["inferred"]
        assert row.locator("title").count() == near["inferred"]
        style = row.locator(".name").evaluate("name => getComputedStyle(name).fontStyle")
        assert style == ("italic" if near["inferred"] else "normal")
    assert "* inferred: the word does not occur near that time" in page.text(".side")


def test_the_words_that_divide_groups_are_listed_with_what_each_group_means(page):
    page.page.get_by_role("link", name="Divided").click()
    page.page.wait_for_selector(".groupNames li")
    assert page.page.locator(".changedWord").first.text_content() == "solar"
    assert page.page.locator(".changedList .row").count() == len(DIVIDED)
    first = page.page.locator(".changedList .row").first
    told = first.get_attribute("aria-label")
    assert told.startswith("solar: differs a lot (0.30 bits a use, at least 0.20). North: near ")
    assert "<i>South</i>: near" in told
    assert first.locator(".groupName").all_text_contents() == ["North300 uses", "<i>South</i>200 uses"]
    page.page.get_by_label("Find").fill("מערב")
    assert page.page.locator(".changedList .row").count() == len(DIVIDED) // 2
    page.page.get_by_label("Find").fill("")
    first.click()
    page.wait("document.querySelector('h1 b')?.textContent === 'solar'")


def test_a_word_that_divides_groups_has_a_line_for_each_and_its_sentences_name_theirs(page):
    page.go("#/word/solar").page.wait_for_selector(".groupNames li")
    assert "Divided: differs a lot between North and <i>South</i>." in page.text(".verdict")
    figure = page.page.get_by_role("region", name="How groups use solar")
    assert figure.locator("g[role=img]").count() == 4
    assert figure.locator("g[role=img]").first.locator("path.band").count() == len(GROUPS)
    assert figure.locator(".groupNames b").all_inner_texts() == list(GROUPS)
    assert "<i>South</i>" in page.text(".uses figcaption")
    assert "<i>South</i>" in page.text(".examples cite")
    figure.locator(".hand").first.hover()
    assert page.page.locator(".byGroup .readout bdi").all_inner_texts() == list(GROUPS)
    page.go("#/word/oil").page.wait_for_selector(".uses blockquote")
    page.wait("document.querySelector('.verdict').textContent.includes('All groups use it alike')")
    assert page.page.get_by_role("region", name="How groups use oil").count() == 0


def test_the_curves_of_groups_are_those_of_their_vectors(page):
    page.go("#/compare?how=groups&anchor=war&words=oil").page.wait_for_selector(".groupNames li")
    figure = page.page.get_by_role("region", name="How groups use war")
    figure.locator(".menu > button").click()
    figure.get_by_role("button", name="Show as a table", exact=True).click()
    rows = [row.split("\t") for row in figure.locator("tbody tr").all_inner_texts()]
    assert len(rows) == len(GROUPS) * len(TIMES)
    place, oil = DIVIDED.index("war"), WORLD.number("oil")
    for row, (group, at) in zip(rows, np.ndindex(len(GROUPS), len(TIMES)), strict=True):
        found = similarities(WORLD.group_scaled(group, place, at), WORLD.scaled([oil], at))
        low, high = found.interval()
        assert row[1:4] == [GROUPS[group], "war", "oil"]
        shown = [float(cell.replace("−", "-")) for cell in row[4:7]]
        assert shown == pytest.approx([found.mean[0], low[0], high[0]], abs=6e-4)


def test_comparing_by_group_opens_with_the_word_that_divides_them_most(page):
    page.go("#/compare?how=anchor&anchor=oil&words=war")
    page.page.get_by_role("button", name="by group").click()
    page.page.wait_for_selector(".groupNames li")
    assert page.text(".figure h2") == "How groups use solar"
    page.go("#/compare?how=groups&anchor=oil&words=war").page.wait_for_selector(".byGroup path.band")
    assert "Groups use this word alike" in page.text(".byGroup .note")


def test_without_groups_nothing_speaks_of_them(tmp_path):
    with opened(single_file_of(tmp_path, _without_groups), "#/word/energy") as page:
        page.page.wait_for_selector(".uses blockquote")
        assert "group" not in page.text("main").lower()
        assert page.page.get_by_role("link", name="Divided").count() == 0
        page.go("#/compare").page.wait_for_selector(".end")
        assert page.page.get_by_role("button", name="by group").count() == 0
        page.go("#/divided").page.wait_for_selector(".notice")
        assert page.text(".notice") == "The texts of this page have no groups."


def _without_groups():
    return World(groups=())


def test_a_phrase_is_found_as_people_type_it(tmp_path):
    with opened(single_file_of(tmp_path, _with_a_phrase)) as page:
        page.page.keyboard.type("Climate ch")
        assert page.page.locator("[role=option] bdi").all_inner_texts() == ["climate_change"]
        page.page.keyboard.type("ange")
        page.page.keyboard.press("Enter")
        page.wait("document.querySelector('h1 b')?.textContent === 'climate_change'")
        page.go("#/word/climate%20change")
        page.wait("document.querySelector('h1 b')?.textContent === 'climate_change'")


def _with_a_phrase():
    return World(words=(*WORDS[:3], "climate_change", *WORDS[4:]))


def test_words_are_compared_in_three_ways(page):
    page.go("#/compare?words=energy,oil,skill")
    page.page.wait_for_selector(".pairName")
    assert page.page.locator(".pairName").all_text_contents() == [
        "energy · oil",
        "energy · skill",
        "oil · skill",
    ]
    page.page.get_by_role("button", name="with one word").click()
    page.page.wait_for_selector(".end")
    assert page.page.locator(".end").all_text_contents() == ["oil", "skill"]
    page.page.get_by_role("button", name="between two poles").click()
    page.page.wait_for_selector(".pole")
    assert page.page.locator(".pole").all_text_contents() == ["↑ nearer to she, woman", "↓ nearer to he, man"]
    page.wait("location.hash === '#/compare?how=poles&words=energy,oil,skill&from=he,man&to=she,woman'")


def test_the_map_moves_through_time_and_draws_trails(page):
    page.go("#/map?t=1800&words=energy")
    page.page.wait_for_selector("canvas")
    before = page.ask("document.querySelector('canvas').toDataURL()")
    page.page.keyboard.press("ArrowRight")
    page.wait("document.querySelector('output').textContent === '1875'")
    assert page.ask("document.querySelector('canvas').toDataURL()") != before
    assert page.page.locator(".wordList .chips bdi").all_text_contents() == ["energy"]
    page.page.get_by_role("button", name="Play").click()
    page.wait("document.querySelector('output').textContent === '2000'")


#: Where on the map a word is, found by looking from left to right and from top to bottom.
_FIRST_WORD = """async () => {
  const canvas = document.querySelector('canvas');
  const box = canvas.getBoundingClientRect();
  for (let x = box.left + 20; x < box.right - 60; x += 18)
    for (let y = box.top + 20; y < box.bottom - 20; y += 18) {
      canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: x, clientY: y, pointerType: 'mouse', bubbles: true}));
      await new Promise(done => setTimeout(done, 0));
      const name = document.querySelector('.readout b')?.textContent;
      if (name && !document.querySelector(`.chips`).textContent.includes(name)) return [x, y, name];
    }
}"""


def test_pointing_at_the_map_names_a_word_and_pressing_draws_its_trail(page):
    page.go("#/map?words=energy").page.wait_for_selector("canvas")
    x, y, name = page.ask(_FIRST_WORD)
    assert name in WORLD.words
    page.page.mouse.move(x, y)
    page.page.mouse.move(5, 5)
    page.wait("!document.querySelector('.readout')")
    page.page.mouse.move(x, y)
    page.wait("name => document.querySelector('.readout b')?.textContent === name", name)
    assert "changed" in page.text(".readout")
    page.page.mouse.click(x, y)
    page.wait("document.querySelectorAll('.wordList .chips bdi').length === 2")
    assert page.page.locator(".wordList .chips bdi").all_text_contents() == ["energy", name]


def test_a_tap_on_the_map_draws_a_trail(address):
    with opened(address, "#/map?words=energy", width=360, height=740, has_touch=True, is_mobile=True) as page:
        page.page.wait_for_selector("canvas")
        x, y, name = page.ask(_FIRST_WORD)
        page.page.touchscreen.tap(x, y)
        page.wait("document.querySelectorAll('.wordList .chips bdi').length === 2")
        assert page.page.locator(".wordList .chips bdi").all_text_contents() == ["energy", name]


def test_the_page_about_the_model_says_what_was_left_out_and_how_to_cite(page):
    page.go("#/about")
    text = page.text("main")
    assert f"{LEFT_OUT} Here are {len(WORLD.words)} words at 9 slices." in text
    assert "at most 20 % of the mean’s length, or if it occurs at least 50 times in the slice" in text
    assert "neither in the slice nor in the slices just before and after it, of those on this page" in text
    assert "Cite <b>this</b>." in text
    page.page.get_by_text("BibTeX").click()
    assert page.text(".guide pre") == "@software{wordtide}"
    assert len(page.text(".guide p").split(". ")) == 4
    assert "changes a similarity by 0.004 at most" in text
    assert "left out: 12 words, 1 period" in page.text("footer")


def test_hostile_words_are_only_text(page):
    for word in HOSTILE:
        page.go("#/").page.locator("#first-field").fill(word)
        page.page.keyboard.press("Enter")
        page.wait("word => document.querySelector('h1 b')?.textContent === word", word)
        page.wait("document.querySelectorAll('.panel')[2]?.querySelectorAll('a.row').length === 10")
        page.wait("document.querySelectorAll('.wordView .end').length === 4")
        assert "broken" not in page.page.title().split(" · ")[1]
        assert page.page.locator("main script, main img").count() == 0
        assert page.ask("location.hash") == f"#/word/{page.ask('encodeURIComponent', word)}"


def test_a_folder_on_a_web_host_shows_the_same(tmp_path):
    with folder_served(tmp_path, WORLD.remote()) as address, opened(address, "#/word/energy?t=1950") as page:
        page.wait(
            "document.querySelectorAll('.passer').length > 5 && !document.querySelector('main').textContent.includes('so far')"
        )
        assert page.text("h1") == _headline(0)
        page.page.wait_for_selector(".examples li")
        assert all(
            url.startswith(address.removesuffix("index.html")) or url.startswith("data:")
            for url in page.requests
        )


def test_a_model_without_posterior_has_no_bands_and_says_so(tmp_path):
    with opened(single_file_of(tmp_path, _without_posterior), "#/word/energy") as page:
        page.page.wait_for_selector(".wordView .end")
        page.page.wait_for_selector(".panel a.row")
        assert "no likely ranges" in page.text(".verdict")
        assert page.ask("[...document.querySelectorAll('.band')].every(band => !band.getAttribute('d'))")
        assert page.page.locator(".whisker").count() == 0
        page.page.wait_for_selector(".passer")
        for route in ("#/", "#/changed", "#/compare?words=oil,skill", "#/about"):
            assert "no likely ranges" in page.go(route).text("main")


def test_a_damaged_header_is_told_on_the_page(tmp_path):
    resources = {**WORLD.remote(), "header.bin": b'{"format": "something else"}'}
    with folder_served(tmp_path, resources) as address:
        page = chromium().new_page()
        page.goto(address)
        page.wait_for_selector("[role=alert]")
        assert "These are not data of a wordtide explorer." in page.inner_text("[role=alert]")
        page.close()


def _without_posterior():
    return World(uncertain=False)


def _unsure():
    return World(sure=False)


def _story(number):
    return WORLD.story(number)


def _nearest_use(number, wanted):
    """The slice nearest to a slice in which a word occurs."""
    there = np.flatnonzero(WORLD.occurrences[number])
    return int(there[np.argmin(np.abs(there - wanted))])


def _headline(number):
    """What the page says of a word that moved gradually."""
    told = _story(number)
    sides = (", ".join(told[side][:3]) for side in ("from", "to"))
    return f"{WORLD.words[number]} moved gradually from {' to '.join(sides)} between 1875 and 1900."
