"""Mend the ends of lines and of files: no trailing spaces, and exactly one newline at the end.

    python .github/text_files.py FILE...

Exits with 1 if a file was changed. Markdown keeps two spaces at the end of a line, which are a line break.
"""

import re
import sys
from pathlib import Path


def mended(text: str, is_markdown: bool = False) -> str:
    """The text with clean ends."""
    spaces = r"(?<! )[ \t](?=\n)|[ \t]{3,}(?=\n)" if is_markdown else r"[ \t]+(?=\n)"
    return re.sub(spaces, "", text.rstrip() + "\n" if text.strip() else "")


def main() -> int:
    """Mend the files that are named."""
    changed = 0
    for path in map(Path, sys.argv[1:]):
        old = path.read_bytes().decode("utf-8")
        new = mended(old, path.suffix == ".md")
        if new != old:
            path.write_text(new, encoding="utf-8", newline="")
            print(f"mended {path}")
            changed = 1
    return changed


if __name__ == "__main__":
    sys.exit(main())
