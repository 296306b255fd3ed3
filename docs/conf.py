"""How Sphinx makes the site from this folder: `make docs`. It needs no network."""

import re
from pathlib import Path

import wordtide

ROOT = Path(__file__).parent.parent

project = "wordtide"
author = "the wordtide authors"
release = version = wordtide.__version__
language = "en"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]  # napoleon: Args, Returns, Raises

# Pages are written for GitHub too, so only what GitHub shows as well is used, and anchors are made as GitHub
# makes them.
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
highlight_language = "none"  # of indented blocks, which are commands, formulas and what programs print
nb_execution_mode = "force"  # what the notebook shows was computed now, by this version
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_output_stderr = "remove"  # a cold cache says that it compiles

# The reference: docstrings are plain text in which `this` is code.
default_role = "code"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
# Types of other libraries, and our own that are not part of the reference, are named without a link.
nitpick_ignore_regex = [
    ("py:.*", r"(?!wordtide\.(count|fit|load|Counts|DynamicEmbeddings|NoteWarning|State)\b).*")
]

html_theme = "furo"
html_title = "wordtide"
html_static_path = ["_static"]
html_css_files = ["wordtide.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6ba8", "color-brand-content": "#0b6ba8"},
    "dark_css_variables": {"color-brand-primary": "#66b8ec", "color-brand-content": "#66b8ec"},
    "navigation_with_keys": False,
}
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

#: Pages that live elsewhere in the repository, and the page of the site that includes each.
ELSEWHERE = {
    "benchmarks/README.md": "evidence.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
_LINK = re.compile(r"(\]\()([^)#\s:]+\.(?:md|ipynb|png))((?:#[^)\s]*)?\))")


def on_the_site(text: str, page: Path) -> str:
    """The text of a page with links that work from the site's folder, wherever in the repository the page
    lives.
    """

    def led(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve().relative_to(ROOT).as_posix()
        target = ELSEWHERE.get(target, target.removeprefix("docs/"))
        return f"{link[1]}{target}{link[3]}"

    return _LINK.sub(led, text)


def setup(app) -> None:
    """Let links lead to pages of the site before a page, or one that it includes, is read."""

    def page_read(_, name: str, content: list[str]) -> None:
        source = Path(app.env.doc2path(name))
        if source.suffix == ".md":
            content[0] = on_the_site(content[0], source)

    def included(_, path: Path, __, content: list[str]) -> None:
        content[0] = on_the_site(content[0], ROOT / "docs" / path)

    app.connect("source-read", page_read)
    app.connect("include-read", included)
