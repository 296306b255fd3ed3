"""Imports follow the arrows of the architecture, and heavy libraries stay behind their doors."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import wordtide

PACKAGE = Path(wordtide.__file__).parent
#: Each part may import those before it; "" is the package's root.
ORDER = [
    *("", "storage", "corpus", "counts", "model", "embeddings", "questions", "inference", "streaming"),
    *("figures", "evaluation", "exports", "explorer", "cli"),
]
#: Imports upwards, each to be removed.
DOORS = {
    "wordtide.__main__",
    "wordtide.embeddings.embeddings",
    "wordtide.embeddings.states",
}


def modules():
    """All modules by their dotted names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("wordtide", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path, known):
    """The modules that a file imports, deferred imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def layer_of(name):
    parts = name.split(".")
    return ORDER.index(parts[1]) if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else 0


def test_imports_go_one_way():
    known = modules()
    upwards = [
        f"{name} imports {imported}"
        for name, path in known.items()
        if name != "wordtide" and name not in DOORS
        for imported in imports_of(path, known)
        if imported.split(".")[0] == "wordtide" and layer_of(imported) > layer_of(name)
    ]
    assert upwards == []


def test_heavy_libraries_are_imported_at_one_door():
    known = modules()
    roots = {name: {found.split(".")[0] for found in imports_of(path, known)} for name, path in known.items()}
    assert {name.split(".")[1] for name, found in roots.items() if "torch" in found} <= {"model", "inference"}
    assert [name for name, found in roots.items() if "numba" in found] == ["wordtide.compiled"]
    assert [
        name for name, found in roots.items() if found & {"pickle", "dill", "joblib", "shelve", "marshal"}
    ] == []


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
    assert {
        name: lines for name, path in modules().items() if (lines := len(path.read_text().splitlines())) > 350
    } == {}
