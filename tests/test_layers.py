"""Imports follow the arrows of the architecture, and torch and numba stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import wordtide

PACKAGE = Path(wordtide.__file__).parent
#: Each part may import those before it.
ORDER = ["", "corpus", "counts", "embeddings", "figures", "explorer", "model", "inference", "evaluation", "cli"]

#: A model is asked for its page, which is made of it, and to go on by the filter that made it: the only imports upwards, inside
#: the methods that need them.
DOORS = {("embeddings.py", "wordtide.explorer"), ("embeddings.py", "wordtide.inference")}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def part_of(name):
    parts = name.split(".")[1:]
    return parts[0] if parts and (PACKAGE / parts[0]).is_dir() else ""


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    if path.name in ("__init__.py", "__main__.py") and path.parent == PACKAGE:
        return
    own = ORDER.index(part_of("wordtide." + ".".join(path.relative_to(PACKAGE).parts)))
    for name in imports_of(path):
        if name == "wordtide" or name.startswith("wordtide."):
            if (path.name, name) not in DOORS:
                assert ORDER.index(part_of(name)) <= own, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_are_imported_at_one_door(path):
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert "torch" not in roots or path.parent.name in ("model", "inference")
    assert "numba" not in roots or path.name == "kernels.py"
    assert not roots & {"pickle", "dill", "joblib", "shelve", "marshal"}


@pytest.mark.parametrize("arguments", [["--help"], ["count", "--help"], ["--version"]])
def test_help_needs_neither_compiler_nor_tensors(arguments):
    code = (
        f"import sys; sys.argv = {['wordtide', *arguments]!r}\n"
        "from wordtide.cli.app import main\n"
        "try:\n main()\nexcept SystemExit: pass\n"
        "print({'numba', 'torch', 'pyarrow'} & set(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "set()"


def test_modules_stay_small():
    assert {path.name: lines for path in modules() if (lines := len(path.read_text().splitlines())) > 310} == {}
