"""The page on every width, in light and dark, for those who read by ear, and without a network."""

from importlib import resources
from itertools import pairwise

import pytest
from explorer.page_driving import opened, single_file_of
from explorer.page_world import HOSTILE, World

pytestmark = pytest.mark.slow

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
        switch = page.page.get_by_role("button", name="Colours")
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
        page.page.get_by_role("button", name="Colours").click()  # as the device says
        page.wait("wanted => getComputedStyle(document.body).backgroundColor === wanted", light)
        page.page.emulate_media(color_scheme="dark")
        page.wait("wanted => getComputedStyle(document.body).backgroundColor === wanted", dark)


def test_headline_verdict_sentences_and_curves_fit_on_one_screen(address):
    with opened(address, "#/word/energy") as page:
        page.page.wait_for_selector(".uses blockquote")
        page.page.wait_for_selector(".wordView .end")
        bottoms = page.ask(
            "[...document.querySelectorAll('.verdict, .uses, .wide .figure:first-child .sized')]"
            ".map(one => one.getBoundingClientRect().bottom)"
        )
        assert len(bottoms) == 3
        assert max(bottoms) <= 800


def test_a_phone_has_one_row_above_large_targets_and_the_figure_before_its_controls(address):
    with opened(address, "#/word/energy", width=390, height=844, has_touch=True, is_mobile=True) as page:
        page.page.wait_for_selector(".panel a.row")
        page.page.wait_for_selector(".uses blockquote")
        assert page.page.locator(".bar").bounding_box()["height"] <= 60
        small = page.ask(
            """[...document.querySelectorAll('main button, main .row, .bar button, .bar input, main summary')]
            .map(one => [one.textContent.trim() || one.ariaLabel, one.getBoundingClientRect()])
            .filter(([, box]) => box.height > 0 && box.height < 43.5).map(([name, box]) => [name, box.height])"""
        )
        assert small == []
        tiny = page.ask(
            """[...document.querySelectorAll('body *')].filter(one => [...one.childNodes].some(node =>
            node.nodeType === 3 && node.textContent.trim()) && one.getClientRects().length
            && parseFloat(getComputedStyle(one).fontSize) < 12).map(one => one.outerHTML.slice(0, 120))"""
        )
        assert tiny == []
        chart = page.page.locator(".wide .figure .sized").first.bounding_box()
        assert chart["y"] + chart["height"] <= page.page.locator(".wide .chips").first.bounding_box()["y"]
        page.page.get_by_role("button", name="Menu").click()
        page.page.get_by_role("link", name="Most changed").click()
        page.page.wait_for_selector(".changedWord")


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
