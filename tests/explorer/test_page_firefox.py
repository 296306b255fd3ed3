"""The page in Firefox: all views, and the same numbers as in Chromium."""

import numpy as np
import pytest
from explorer.firefox_driving import firefox
from explorer.page_driving import single_file_of
from explorer.page_world import HOSTILE, TIMES, World

from wordtide.questions.similarity import similarities

pytestmark = pytest.mark.slow

WORLD = World()
#: Addresses, and what each must show.
PLACES = {
    "#/": ".card path.thick",
    "#/word/energy": ".uses blockquote",
    f"#/word/{HOSTILE[5]}": ".panel a.row",
    "#/changed": ".changedWord",
    "#/divided": ".groupNames li",
    "#/compare": ".end",
    "#/compare?how=poles&words=nurse&from=he&to=she": ".pole",
    "#/map": "canvas",
    "#/about": ".guide pre",
}
_SHOWN = """
    location.hash = given[0];
    for (let waited = 0; waited < 300; waited++) {
      if (document.querySelector(given[1])) return document.querySelectorAll('[role=alert]').length;
      await new Promise(done => setTimeout(done, 50));
    }
    return 'never shown';
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("firefox")
    with firefox(tmp_path_factory.mktemp("profile")) as found:
        found.go(single_file_of(folder))
        yield found


@pytest.mark.parametrize("route", PLACES)
def test_every_view_is_shown(browser, route):
    assert browser.run(_SHOWN, route, PLACES[route]) == 0


def test_similarities_are_those_of_the_stored_vectors(browser):
    told = browser.run("return await window.wordtide.similarity('energy', 'oil')")
    for place in range(len(TIMES)):
        one, other = (WORLD.scaled([WORLD.number(word)], place) for word in ("energy", "oil"))
        found = similarities(one, other)
        assert told[place]["similarity"] == pytest.approx(float(found.mean[0]), abs=1e-6)
        assert np.isfinite(found.spread[0])


def test_typing_leads_to_a_story_and_arrows_move_the_year(browser):
    browser.go(browser.run("return location.href.split('#')[0]"))
    told = browser.run(
        """
        location.hash = '#/';
        const until = async (found) => { while (!found()) await new Promise(done => setTimeout(done, 20)); };
        await until(() => document.getElementById('first-field'));
        const field = document.getElementById('first-field');
        field.focus();
        field.value = 'energy';
        field.dispatchEvent(new InputEvent('input', {bubbles: true}));
        field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
        await until(() => document.querySelectorAll('.wordView .end').length > 1);
        const year = () => document.querySelector('[role=slider]').getAttribute('aria-valuenow');
        const before = year();
        window.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
        await until(() => year() !== before);
        return [document.querySelector('h1 b').textContent, Number(year()) - Number(before)];
        """
    )
    assert told == ["energy", 1]
