"""How fast the explorer's page is in Chromium, in its emulation of a phone, and in Firefox if it is installed,
measured against its budgets.

    .venv/bin/python benchmarks/exploring.py [STORY.html]

Without a file, it first makes the page of the State of the Union, with a slice per address, in a few minutes.
"""

import argparse
import gzip
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from results import Table

import wordtide
from wordtide.explorer.single_file import built_page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from explorer.firefox_driving import Firefox, firefox

WORDS = ("energy", "war", "economy", "nation", "freedom", "welfare", "union")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
#: From the press of Enter in the search field until the story's sentence and curves of that word are drawn.
_STORY = """word => new Promise(done => {
  const begun = performance.now();
  const field = document.activeElement;
  field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}));
  const look = () => {
    const named = document.querySelector('h1 b');
    if (named && named.textContent === word && document.querySelectorAll('.wordView .end').length > 1)
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun), 0));
    else setTimeout(look, 1);
  };
  look();
})"""
_SCRUB = """async () => {
  const taken = [];
  for (let step = 0; step < 40; step++) {
    const begun = performance.now();
    window.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
    await new Promise(done => setTimeout(done, 0));
    taken.push(performance.now() - begun);
    await new Promise(done => requestAnimationFrame(done));
  }
  return taken;
}"""
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    """The file in a browser, from disk."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.goto(file.resolve().as_uri())
        page.wait_for_selector("main input")
        yield page
        browser.close()


def measured(file: Path) -> dict[str, tuple[float, float, str]]:
    """What was measured, its limit, and the unit, by name."""
    found = {
        "page without data, gzipped": (len(gzip.compress(built_page().encode())) / 1e3, 100.0, "kB"),
        "the file": (file.stat().st_size / 1e6, 40.0, "MB"),
    }
    with opened(file) as page:
        found["first paint"] = (page.evaluate(_FIRST_PAINT) / 1e3, 1.0, "s")
        page.evaluate("wordtide.similarity('war', 'peace')")
        found["all vectors ready"] = (page.evaluate("performance.now()") / 1e3, 3.0, "s")
        page.wait_for_timeout(2000)
        stories = []
        for word in WORDS:
            page.keyboard.press("Escape")  # out of the field that the start page has in focus
            page.keyboard.press("/")
            page.keyboard.type(word)
            page.wait_for_timeout(500)
            stories.append(page.evaluate(_STORY, word))
            page.wait_for_timeout(2500)  # the timeline of neighbors is worked out meanwhile
        found["key to story, median of seven words"] = (statistics.median(stories), 100.0, "ms")
        found["key to story, slowest"] = (max(stories), 100.0, "ms")
        steps = page.evaluate(_SCRUB)
        found["a step of the year, median of 40"] = (statistics.median(steps), 1000.0 / 60.0, "ms")
        found["a step of the year, slowest of 40"] = (max(steps), 1000.0 / 60.0, "ms")
    return found


#: Types a word into the field in focus: a key of the driver would take longer than what is measured.
_TYPED = """
    window.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    document.activeElement.blur();
    document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true}));
    await new Promise(done => setTimeout(done, 100));
    document.activeElement.value = given[0];
    document.activeElement.dispatchEvent(new InputEvent('input', {bubbles: true}));
    await new Promise(done => setTimeout(done, 500));
"""


def in_firefox(file: Path) -> dict[str, tuple[float, float, str]]:
    """The same budgets in Firefox; nothing if it is not installed."""
    if not any(map(shutil.which, ("firefox-esr", "firefox"))):
        print("Firefox is not installed", file=sys.stderr)
        return {}
    with tempfile.TemporaryDirectory() as profile, firefox(Path(profile)) as browser:
        browser.go(file.resolve().as_uri())
        return _budgets_in(browser)


def _budgets_in(browser: Firefox) -> dict[str, tuple[float, float, str]]:
    found = {"Firefox: first paint": (browser.run(f"return {_FIRST_PAINT}") / 1e3, 1.0, "s")}
    browser.run("await window.wordtide.similarity('war', 'peace')")
    found["Firefox: all vectors ready"] = (browser.run("return performance.now()") / 1e3, 3.0, "s")
    browser.run("await new Promise(done => setTimeout(done, 2000))")
    stories = []
    for word in WORDS:
        browser.run(_TYPED, word)
        stories.append(browser.run(f"return await ({_STORY})(given[0])", word))
        browser.run("await new Promise(done => setTimeout(done, 2500))")
    found["Firefox: key to story, median of seven words"] = (statistics.median(stories), 100.0, "ms")
    found["Firefox: key to story, slowest"] = (max(stories), 100.0, "ms")
    steps = browser.run(f"return await ({_SCRUB})()")
    found["Firefox: a step of the year, median of 40"] = (statistics.median(steps), 1000.0 / 60.0, "ms")
    found["Firefox: a step of the year, slowest of 40"] = (max(steps), 1000.0 / 60.0, "ms")
    return found


def on_a_phone(file: Path) -> dict[str, tuple[float, float, str]]:
    """The same file in the browser's emulation of a phone, with a processor that is four times slower."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*_ARGUMENTS, "--enable-precise-memory-info"]
        )
        context = browser.new_context(**driver.devices["Pixel 7"])
        page = context.new_page()
        tools = context.new_cdp_session(page)
        tools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.goto(file.resolve().as_uri())
        page.wait_for_selector("main input", timeout=120_000)
        found = {"phone: first paint": (page.evaluate(_FIRST_PAINT) / 1e3, 4.0, "s")}
        page.evaluate("wordtide.similarity('war', 'peace')")
        found["phone: all vectors ready"] = (page.evaluate("performance.now()") / 1e3, 12.0, "s")
        page.wait_for_timeout(3000)
        page.locator("#first-field").fill("energy")
        page.wait_for_timeout(500)
        found["phone: key to story"] = (page.evaluate(_STORY, "energy"), 400.0, "ms")
        tools.send("HeapProfiler.collectGarbage")
        metrics = tools.send("Runtime.getHeapUsage")
        buffers = float(metrics.get("backingStorageSize", 0.0))
        found["phone: memory of the page"] = ((float(metrics["usedSize"]) + buffers) / 1e6, 500.0, "MB")
        browser.close()
    return found


def state_of_the_union(folder: Path) -> Path:
    """The page of the State of the Union, an address a slice."""
    print("counting, fitting and writing the page of the State of the Union", file=sys.stderr)
    model = wordtide.fit(wordtide.count("sotu", every="document", merge_within="7d"), output=folder / "model")
    return model.save_html(folder / "story.html", title="State of the Union")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or state_of_the_union(Path(folder))
        found = measured(file) | on_a_phone(file) | in_firefox(file)
    with Table("exploring", ("what", "measured", "limit", "")) as table:
        for name, (value, limit, unit) in found.items():
            verdict = "ok" if value <= limit else "MISSED"
            table.row(name, f"{value:.3g} {unit}", f"{limit:.3g} {unit}", verdict)


if __name__ == "__main__":
    main()
