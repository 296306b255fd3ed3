"""The built page, and how data and its policy are put into it.

The page is one HTML file with one script and one style, both inline. The policy allows these two by their hashes and nothing
else, so nothing that a corpus or a model contains can run. Data are letters, digits, + / and = inside elements that are never
executed.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib import resources

from wordtide.errors import FolderError

POLICY_MARK, DATA_MARK = "<!--wordtide:policy-->", "<!--wordtide:data-->"
_REMEDY = (
    "Install wordtide again; from its sources, build the page first: npm run build in the folder explorer."
)
_RESOURCE_NAME = re.compile(r"[a-z]+(?:/[0-9]+)?\.bin")


def built_page() -> str:
    """The page that ships with the package."""
    place = resources.files("wordtide.explorer") / "page" / "explorer.html"
    try:
        return place.read_text(encoding="utf-8")
    except OSError:
        raise FolderError("The page of the explorer is missing in this installation.", _REMEDY) from None


def policy(page: str, remote: bool) -> str:
    """The content security policy of a page: its own script and style, pictures it makes, and for remote data its own host."""
    hashes = {name: f"'sha256-{_digest(_inline(page, name))}'" for name in ("script", "style")}
    rules = [
        "default-src 'none'",
        f"script-src {hashes['script']}",
        f"style-src {hashes['style']}",
        "img-src data: blob:",
        *(["connect-src 'self'"] if remote else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def remote_page(page: str) -> bytes:
    """The page for a folder or a server: it fetches its data."""
    before, after = _around_data(_with_policy(page, remote=True))
    return (before + after).encode("utf-8")


def single_file(page: str, embedded: Mapping[str, bytes]) -> Iterator[bytes]:
    """The page with its data inside, part by part."""
    before, after = _around_data(_with_policy(page, remote=False))
    yield before.encode("utf-8")
    for name, content in embedded.items():
        if not _RESOURCE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a resource")
        yield f'<script type="application/octet-stream" data-resource="{name}">'.encode("ascii")
        yield base64.b64encode(content)
        yield b"</script>\n"
    yield after.encode("utf-8")


def _with_policy(page: str, remote: bool) -> str:
    if page.count(POLICY_MARK) != 1 or page.count(DATA_MARK) != 1:
        raise FolderError(
            "The page of the explorer is damaged: it has no place for its policy or its data.", _REMEDY
        )
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy(page, remote)}">'
    return page.replace(POLICY_MARK, tag)


def _around_data(page: str) -> tuple[str, str]:
    before, _, after = page.partition(DATA_MARK)
    return before, after


def _inline(page: str, name: str) -> str:
    """The content of the one inline script or style."""
    found = re.findall(rf"<{name}[^>]*>(.*?)</{name}>", page, re.DOTALL)
    if len(found) != 1:
        raise FolderError(
            f"The page of the explorer is damaged: it has {len(found)} {name} elements, not one.", _REMEDY
        )
    return str(found[0])


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
