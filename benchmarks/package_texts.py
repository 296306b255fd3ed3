"""Texts in many languages from Debian packages: manual pages, LibreOffice's help and fortune cookies.

    dpkg-deb -x manpages-fr_4.18.1-1_all.deb unpacked
    python benchmarks/package_texts.py unpacked texts.jsonl

writes one line of JSON per page or saying. Files have no dates, so that each text is assigned to one of ten
years at random: `function_words.py` asks what is found in a language, not what changed.
"""

import gzip
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

YEARS = range(2001, 2011)
_SHOWN = re.compile(r"[.'](?:[BIR]{1,2}|S[HSM]|TP|IP|P|PP)\b ?(.*)")  # macros whose arguments are text
_ESCAPES = re.compile(r"\\(?:f(?:\[\w*\]|\(..|.)|s[-+]?\d+|[&|^%:]|\*(?:\[\w*\]|\(..|.))")
_SPECIAL = re.compile(r"\\(?:\[[^\]]*\]|\(..)")
_MARKUP = re.compile(r"<(script|style|head)\b.*?</\1>|<[^>]*>", re.DOTALL)


def plain_manual(page: str) -> str:
    """The text of a manual page without its macros."""
    lines = []
    for line in page.splitlines():
        shown = _SHOWN.fullmatch(line)
        if shown or not line.startswith((".", "'")):
            lines.append(shown[1].replace('"', " ") if shown else line)
    text = _SPECIAL.sub(" ", _ESCAPES.sub("", "\n".join(lines)))
    return text.replace("\\-", "-").replace("\\", " ")


def texts_of(folder: Path) -> Iterator[str]:
    """All texts below the folder of an unpacked package, in order of their paths."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        if "man" in path.parts and path.suffix == ".gz":
            yield plain_manual(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
        elif path.suffix == ".html":
            yield html.unescape(_MARKUP.sub(" ", path.read_text(encoding="utf-8", errors="replace")))
        elif "/games/fortunes/" in path.as_posix() and path.suffix not in (".dat", ".u8"):
            yield from re.split(r"^%\s*$", path.read_text(encoding="utf-8", errors="replace"), flags=re.M)


def main() -> None:
    """Write the texts of a package."""
    source, target = map(Path, sys.argv[1:3])
    random = np.random.default_rng(1)
    with target.open("w", encoding="utf-8", newline="\n") as lines:
        for text in texts_of(source):
            date = str(random.choice(YEARS))
            lines.write(json.dumps({"date": date, "text": text}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
