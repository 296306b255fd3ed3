"""Run the commands of docs/gallery.md and take its pictures.

    python docs/make_gallery.py DATA [--only presidents,fiction] [-o build/gallery]

DATA is a folder with the files that the page names. Every `sh` block of a story runs in the output folder, where
those files are linked, and the pictures that the page shows are copied to docs/pictures. Models that exist are
fitted again only with --fit.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
LARGEST = 150_000  # bytes of a picture
_STORY = re.compile(r"^## .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def stories(page: str) -> dict[str, tuple[list[str], list[str]]]:
    """The commands and the pictures of each story, by the name of its first picture."""
    found = {}
    for story in _STORY.findall(page):
        pictures = re.findall(r"\(pictures/(gallery-[\w-]+\.png)\)", story)
        blocks = re.findall(r"^```sh\n(.*?)^```", story, flags=re.MULTILINE | re.DOTALL)
        if pictures:
            commands = "".join(blocks).replace("\\\n", " ").splitlines()
            found[pictures[0].removeprefix("gallery-").removesuffix(".png")] = (commands, pictures)
    return found


def run(command: str, folder: Path, fit: bool) -> None:
    """Run a command, unless it makes a folder that exists."""
    words = shlex.split(command, comments=True)
    if not words:
        return
    target = folder / words[words.index("-o") + 1] if "-o" in words else None
    if target is not None and target.is_dir() and not fit:
        return
    if words[0] == "wordtide":
        overwrite = (
            ["--overwrite"] if words[1] in ("count", "fit") and target is not None and target.exists() else []
        )
        words = [sys.executable, "-m", *words, *overwrite]
    print(f"$ {command}", flush=True)
    subprocess.run(words, cwd=folder, check=True)


def main() -> None:
    """Run the stories."""
    parser = argparse.ArgumentParser(description="Run the commands of the gallery, and take its pictures.")
    parser.add_argument("data", type=Path, help="folder with the files that the page names")
    parser.add_argument("--only", help="names of stories, with commas")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/gallery"))
    parser.add_argument("--fit", action="store_true", help="count and fit again what exists")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for file in options.data.resolve().iterdir():
        link = options.output / file.name
        if not link.exists():
            os.symlink(file, link)
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    found = stories(page)
    for name in options.only.split(",") if options.only else found:
        commands, pictures = found[name]
        for command in commands:
            run(command, options.output, options.fit)
        for picture in pictures:
            if (options.output / picture).stat().st_size > LARGEST:
                sys.exit(f"{picture} is larger than {LARGEST / 1e3:.0f} kB.")
            shutil.copyfile(options.output / picture, DOCS / "pictures" / picture)


if __name__ == "__main__":
    main()
