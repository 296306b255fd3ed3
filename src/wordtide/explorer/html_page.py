"""The built page, and how its data and its content security policy are inserted.

The page is one HTML file with one inline script and one inline style. The policy allows these two by their
hashes and nothing else, so nothing in a corpus or a model can run. Data are base64 text inside elements that
browsers never execute.
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
    """The page that ships with the package.

    Raises:
        FolderError: The installation lacks the page.
    """
    place = resources.files("wordtide.explorer") / "page" / "explorer.html"
    try:
        return place.read_text(encoding="utf-8")
    except OSError:
        raise FolderError("This installation lacks the page of the explorer.", _REMEDY) from None


def policy(page: str, remote: bool) -> str:
    """The content security policy of a page: its own script, style and images, and its own host for remote
    data.
    """
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
    """The page for a folder or a server, which fetches its data."""
    before, after = _around_data(_with_policy(page, remote=True))
    return (before + after).encode("utf-8")


def single_file(page: str, embedded: Mapping[str, bytes]) -> Iterator[bytes]:
    """The page with embedded data, in parts."""
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
            "The page of the explorer is damaged: the marks for policy and data are missing.", _REMEDY
        )
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy(page, remote)}">'
    return page.replace(POLICY_MARK, tag)


def _around_data(page: str) -> tuple[str, str]:
    before, _, after = page.partition(DATA_MARK)
    return before, after


def _inline(page: str, name: str) -> str:
    """The content of the only inline script or style."""
    found = re.findall(rf"<{name}[^>]*>(.*?)</{name}>", page, re.DOTALL)
    if len(found) != 1:
        raise FolderError(
            f"The page of the explorer is damaged: it has {len(found)} {name} elements, not one.", _REMEDY
        )
    return str(found[0])


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
