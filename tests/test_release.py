"""What a release consists of: version, changelog and citation agree, and every dependency is declared once."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import wordtide

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_version_changelog_and_citation_agree() -> None:
    newest = re.search(
        r"^## (\S+?),? (20\d\d-\d\d-\d\d|unreleased)$", text_of("CHANGELOG.md"), flags=re.MULTILINE
    )
    cited = re.search(r"^version: (\S+)$", text_of("CITATION.cff"), flags=re.MULTILINE)
    assert newest
    assert cited
    assert (newest[1], cited[1]) == (wordtide.__version__, wordtide.__version__)
    released = re.search(r"^date-released: (\S+)$", text_of("CITATION.cff"), flags=re.MULTILINE)
    assert (released[1] if released else "unreleased") == newest[2]


def test_releases_of_the_changelog_have_the_same_four_sections_at_most() -> None:
    order = ["Added", "Changed", "Removed", "Fixed"]
    for release in re.split(r"^## ", text_of("CHANGELOG.md"), flags=re.MULTILINE)[1:]:
        titles = re.findall(r"^### (.+)$", release, flags=re.MULTILINE)
        assert titles == [title for title in order if title in titles]


def test_every_dependency_is_declared_once() -> None:
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    lists += PROJECT["dependency-groups"].values()
    separate = PROJECT["dependency-groups"]["pwe"]
    assert separate in lists
    names = [re.split(r"[\[<>=]", line)[0] for some in lists if some is not separate for line in some]
    assert sorted({name for name in names if names.count(name) > 1} - {project["name"]}) == []
    assert list(ROOT.glob("*requirements*")) + list(ROOT.glob("[a-z]*/**/*requirements*.txt")) == []


@pytest.mark.slow
def test_the_wheel_has_no_tests_and_the_source_distribution_has_them(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the files of the repository are not known")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], check=True, capture_output=True
    )
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        folders = {Path(name).parts[0] for name in archive.namelist()}
        assert "wordtide/explorer/page/explorer.html" in archive.namelist()
    assert folders == {"wordtide", f"wordtide-{wordtide.__version__}.dist-info"}
    with tarfile.open(source) as files:
        inside = {str(Path(*Path(name).parts[1:])) for name in files.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    needed = {
        name
        for name in tracked.splitlines()
        if name.startswith(("src", "tests", "docs", "benchmarks", "fuzz"))
    }
    assert needed <= inside
    assert {"README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "constraints.txt"} <= inside
