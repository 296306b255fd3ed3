"""Take the pictures of the explorer in the docs from the page of the demo.

.venv/bin/wordtide demo -o build/demo
.venv/bin/python docs/make_screenshots.py [STORY.html]
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
STORY = Path(__file__).parent.parent / "build" / "demo" / "story.html"
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
#: Name, address, what to wait for, width and height, and colors.
SHOTS = (
    ("explorer-word", "#/word/energy", ".passer", 1280, 900, "light"),
    ("explorer-changed", "#/changed", ".changedWord", 1280, 800, "light"),
    ("explorer-map", "#/map", "canvas", 1280, 800, "light"),
    ("explorer-phone", "#/word/energy", ".uses blockquote", 390, 844, "dark"),
)


def main() -> None:
    """Write one picture after the other."""
    story = Path(sys.argv[1]) if len(sys.argv) > 1 else STORY
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        for name, route, awaited, width, height, scheme in SHOTS:
            phone = width < 640
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce",
                is_mobile=phone,
                has_touch=phone,
                device_scale_factor=2 if phone else 1,
            )
            page = context.new_page()
            page.goto(f"{story.resolve().as_uri()}{route}")
            page.wait_for_selector(awaited, timeout=120_000)
            page.wait_for_timeout(2500)
            page.screenshot(path=PICTURES / f"{name}.png")
            context.close()
            print(f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
