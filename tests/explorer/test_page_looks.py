"""The page on every width, in light and dark, for those who read by ear, and without a network."""

import os
from importlib import resources
from itertools import pairwise

import pytest
from explorer.page_driving import opened, single_file_of
from explorer.page_world import HOSTILE, World

from wordtide.explorer.single_file import built_page, single_file

pytestmark = pytest.mark.slow

#: A folder for pictures of every script, to be looked at.
SCREENSHOTS = os.environ.get("WORDTIDE_TEST_SCREENSHOTS")
#: Addresses and what to wait for.
PLACES = {
    "#/": ".card path.thick",
    "#/word/energy?t=1950": ".panel a.row",
    f"#/word/{HOSTILE[-1]}": ".panel a.row",
    "#/word/enrgy": ".meant a",
    "#/changed": ".changedWord",
    "#/divided": ".groupNames li",
    "#/compare?how=groups&anchor=war&words=oil,skill": ".groupNames li",
    "#/compare?words=energy,oil,skill,__proto__,nurse,war": ".pairName",
    "#/compare?how=anchor&anchor=energy&words=oil,skill": ".end",
    "#/compare?how=poles&words=nurse,army&from=he,man&to=she,woman": ".pole",
    "#/map?words=energy": "canvas",
    "#/about": ".aboutColumns pre",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return single_file_of(tmp_path_factory.mktemp("looks"))


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_view_is_wider_than_the_screen(address, width):
    with opened(address, width=width, height=700, has_touch=width < 700) as page:
        for route, selector in PLACES.items():
            page.go(route).page.wait_for_selector(selector)
            assert page.ask("document.documentElement.scrollWidth <= innerWidth"), route


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_breaks_a_rule_of_axe(address, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python is not installed: rules are not checked"
    )
    script = resources.files(axe).joinpath("axe.min.js").read_text(encoding="utf-8")
    with opened(address, color_scheme=scheme) as page:
        page.ask(script)
        for route, selector in PLACES.items():
            page.go(route).page.wait_for_selector(selector)
            found = page.ask("async () => (await axe.run()).violations")
            told = [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in found]
            assert told == [], f"{route}: {told}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_that_are_uncertain_break_no_rule_of_axe_and_fit_on_a_phone(tmp_path_factory, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python is not installed: rules are not checked"
    )
    script = resources.files(axe).joinpath("axe.min.js").read_text(encoding="utf-8")
    with opened(
        single_file_of(tmp_path_factory.mktemp("unsure"), _unsure), color_scheme=scheme, width=320
    ) as page:
        page.ask(script)
        for route, selector in {"#/": ".card.quiet", "#/changed": ".row.quiet"}.items():
            page.go(route).page.wait_for_selector(selector)
            assert page.ask("async () => (await axe.run()).violations.map(rule => rule.id)") == []
            assert page.ask("document.documentElement.scrollWidth <= innerWidth")


def test_the_help_and_the_open_list_break_no_rule_of_axe(address):
    axe = pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python is not installed: rules are not checked"
    )
    script = resources.files(axe).joinpath("axe.min.js").read_text(encoding="utf-8")
    with opened(address, "#/about") as page:
        page.ask(script)
        page.page.keyboard.press("?")
        assert page.ask("async () => (await axe.run()).violations.map(rule => rule.id)") == []
        page.page.keyboard.press("Escape")
        page.page.keyboard.press("/")
        page.page.keyboard.type("enrgy")
        page.page.wait_for_selector("[role=option]")
        assert page.ask("async () => (await axe.run()).violations.map(rule => rule.id)") == []


def test_from_disk_nothing_is_asked_of_any_machine(address):
    with opened(address) as page:
        for route, selector in PLACES.items():
            page.go(route).page.wait_for_selector(selector)
        assert [url for url in page.requests if not url.startswith(("data:", "blob:"))] == [address]


def test_the_switch_of_colors_goes_round_and_wins_over_the_device(address):
    def paper(page):
        return page.ask("getComputedStyle(document.body).backgroundColor")

    with opened(address, color_scheme="dark") as page:
        switch = page.page.get_by_role("button", name="Colors")
        dark = paper(page)
        switch.click()
        light = paper(page)
        switch.click()
        assert light != dark == paper(page)
        page.page.reload()
        page.page.wait_for_selector("main h1")
        assert page.ask("document.documentElement.dataset.theme") == "dark"
        page.page.emulate_media(color_scheme="light")
        assert paper(page) == dark
        page.page.get_by_role("button", name="Colors").click()  # as the device says
        page.wait("wanted => getComputedStyle(document.body).backgroundColor === wanted", light)
        page.page.emulate_media(color_scheme="dark")
        page.wait("wanted => getComputedStyle(document.body).backgroundColor === wanted", dark)


def test_headline_verdict_sentences_and_curves_fit_on_one_screen(address):
    with opened(address, "#/word/energy") as page:
        page.page.wait_for_selector(".uses blockquote")
        page.page.wait_for_selector(".wordView .end")
        bottoms = page.ask(
            "[...document.querySelectorAll('.verdict, .uses, .wide > .figure:first-child .sized')]"
            ".map(one => one.getBoundingClientRect().bottom)"
        )
        assert len(bottoms) == 3
        assert max(bottoms) <= 800


#: What a finger presses: too small, by name and size. Links within a sentence are as high as its lines.
SMALL = """[...document.querySelectorAll(
      'main button, main .row, main a.card, main nav a, .bar button, .bar input, main input, main select, main summary')]
    .filter(one => one.checkVisibility() && !one.closest('.rehearsal') && one.type !== 'checkbox')
    .map(one => [one.textContent.trim().slice(0, 40) || one.ariaLabel || one.tagName, one.getBoundingClientRect()])
    .filter(([, box]) => box.height > 0 && box.height < 43.5).map(([name, box]) => [name, box.height])"""
#: Text that is smaller than 12 px.
TINY = """[...document.querySelectorAll('body *')].filter(one => [...one.childNodes].some(node =>
    node.nodeType === 3 && node.textContent.trim()) && one.checkVisibility() && !one.closest('.rehearsal')
    && parseFloat(getComputedStyle(one).fontSize) < 12).map(one => one.outerHTML.slice(0, 120))"""
#: Text that reaches over an edge of the screen, or of its own box where that hides what is too long.
CUT_OFF = """[...document.querySelectorAll('main *, .bar *')].filter(one => [...one.childNodes].some(node =>
    node.nodeType === 3 && node.textContent.trim()) && one.checkVisibility() && !one.closest('.rehearsal, .scrolling, .heard, pre'))
    .map(one => [one, one.getBoundingClientRect()]).filter(([one, box]) => box.width > 0 && (box.left < -1
      || box.right > Math.min(innerWidth, one.ownerSVGElement?.getBoundingClientRect().right ?? Infinity) + 1
      || (getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1)))
    .map(([one, box]) => [one.outerHTML.slice(0, 100), box.left, box.right])"""
#: Figures whose fields come before their picture.
FIELDS_FIRST = """[...document.querySelectorAll('main .figure .body')].filter(body => {
      const picture = body.querySelector('svg[data-part], canvas');
      const field = body.querySelector('input, select, .chips, .filters');
      return picture && field && field.getBoundingClientRect().top < picture.getBoundingClientRect().top;
    }).map(body => body.closest('.figure').querySelector('h2').textContent)"""


@pytest.mark.parametrize("route", PLACES)
def test_on_a_phone_every_view_has_one_row_above_large_targets_and_nothing_is_cut_off(address, route):
    with opened(address, route, width=360, height=740, has_touch=True, is_mobile=True) as page:
        page.page.wait_for_selector(PLACES[route])
        page.page.wait_for_timeout(300)
        assert page.page.locator(".bar").bounding_box()["height"] <= 60
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        assert page.ask(SMALL) == []
        assert page.ask(TINY) == []
        assert page.ask(CUT_OFF) == []
        assert page.ask(FIELDS_FIRST) == []


#: Words of scripts without capitals or spaces, written from right to left, and long ones.
SCRIPTS = {
    "chinese": "能源 石油 太阳能 清洁 气候变化 经济 战争 和平 学校 教师 医生 人工智能 互联网 新型冠状病毒 可持续发展目标".split(),
    "hebrew": "אנרגיה נפט שמש נקי מלחמה שלום בית־ספר מורה רופא אינטרנט דמוקרטיה ממשלה אדמה מים אור".split(),
    "german": [
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
        "Geschwindigkeitsbegrenzung",
        "Verfassungsgerichtsentscheidung",
        "Kraftfahrzeughaftpflichtversicherung",
        *"Energie Öl Sonne sauber Krieg Frieden Schule Lehrer Ärztin Wasser".split(),
    ],
}


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("script", SCRIPTS)
def test_words_of_any_script_and_length_fit(script, width, tmp_path):
    words = tuple(SCRIPTS[script])
    path = tmp_path / "page.html"
    path.write_bytes(b"".join(single_file(built_page(), World(words=(*words, "coal")).embedded())))
    phone = {"has_touch": True, "is_mobile": True} if width == 360 else {}
    with opened(path.as_uri(), width=width, height=740, **phone) as page:
        for route, selector in {
            "#/": ".card path.thick",
            f"#/word/{words[0]}": ".panel a.row",
            "#/changed": ".changedWord",
            f"#/compare?words={words[0]},{words[1]},{words[2]}": ".pairName",
            f"#/compare?how=anchor&anchor={words[1]}&words={words[0]},{words[3]}": ".end",
            f"#/map?words={words[0]}": "canvas",
        }.items():
            page.go(route).page.wait_for_selector(selector)
            page.page.wait_for_timeout(100)
            assert page.ask("document.documentElement.scrollWidth <= innerWidth"), route
            assert page.ask(CUT_OFF) == [], route
            if SCREENSHOTS:
                name = "".join(letter for letter in route[2:8] if letter.isalpha()) or "start"
                page.page.screenshot(path=f"{SCREENSHOTS}/{script}-{width}-{name}.png")


def test_every_chart_can_be_read_as_a_table_and_the_story_is_announced(address):
    with opened(address) as page:
        for route, selector in PLACES.items():
            page.go(route).page.wait_for_selector(selector)
            without = page.ask(
                """[...document.querySelectorAll('main svg[data-part], main canvas')].filter(one =>
                ![...(one.closest('section.figure[aria-labelledby]')?.querySelectorAll('.menuItems button') ?? [])]
                  .some(button => button.textContent === 'Show as a table')).length"""
            )
            assert without == 0, route
        page.go("#/word/energy")
        page.wait("document.querySelector('.heard[role=status]')?.textContent.endsWith('Gradual change.')")
        assert page.page.locator(".heard").inner_text().startswith("energy moved gradually from ")


def test_on_a_phone_the_menu_leads_to_all_views(address):
    with opened(address, "#/word/energy", width=360, height=740, has_touch=True, is_mobile=True) as page:
        for name, heading in {
            "Most changed": "Most changed words",
            "Divided": "Words that divide groups",
        }.items():
            page.page.get_by_role("button", name="Menu").click()
            page.page.get_by_role("link", name=name).click()
            page.wait("name => document.querySelector('h1').textContent === name", heading)


def test_names_at_the_ends_of_curves_do_not_touch(address):
    with opened(address, "#/word/energy?with=oil,solar,clean,power,courage,fuels") as page:
        page.wait("document.querySelectorAll('.wordView .end').length === 6")
        boxes = page.ask(
            "[...document.querySelectorAll('.wordView .end')].map(one => one.getBoundingClientRect().toJSON())"
        )
        boxes.sort(key=lambda box: box["top"])
        assert all(lower["top"] - upper["top"] >= 14.0 for upper, lower in pairwise(boxes))


def test_the_whole_page_can_be_used_with_keys_alone(address):
    with opened(address) as page:
        page.page.keyboard.type("energy")
        page.page.keyboard.press("Enter")
        page.wait("document.querySelectorAll('.wordView .end').length === 4")
        page.page.wait_for_selector(".panel a.row")
        reached = set()
        for _ in range(70):
            page.page.keyboard.press("Tab")
            reached.add(
                page.ask(
                    "(() => { const one = document.activeElement; const box = one.getBoundingClientRect();"
                    " return one.getAttribute('role') ?? one.className?.baseVal ?? one.tagName })()"
                )
            )
        assert {"slider", "row", "BUTTON", "combobox"} <= reached


def _unsure():
    return World(sure=False)
