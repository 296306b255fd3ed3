"""Imports follow the arrows of the architecture, and heavy libraries stay behind their doors."""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import wordtide

PACKAGE = Path(wordtide.__file__).parent
#: Each part may import those before it; "" is the package's root.
ORDER = [
    *("", "storage", "corpus", "counts", "model", "embeddings", "questions", "inference", "streaming"),
    *("figures", "evaluation", "exports", "explorer", "api", "cli"),
]
#: The package itself, whose names are imported when first used, and `python -m wordtide`.
ENTRANCES = {"wordtide", "wordtide.__main__"}
#: Names that several packages may use, because they are the same kind of thing.
SAME_KINDS = {"settings", "folder", "filtering", "smoothing"}


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
    return ORDER.index(parts[1]) if len(parts) > 1 and parts[1] in ORDER else 0


def own_imports():
    """For each module those of the package that it imports."""
    known = modules()
    return {
        name: {found for found in imports_of(path, known) if found.split(".")[0] == "wordtide"} - {name}
        for name, path in known.items()
        if name not in ENTRANCES
    }


def test_imports_go_one_way():
    assert [
        f"{name} imports {imported}"
        for name, found in own_imports().items()
        for imported in sorted(found)
        if layer_of(imported) > layer_of(name) or imported in ENTRANCES
    ] == []


def test_no_module_imports_itself_through_others():
    list(TopologicalSorter(own_imports()).static_order())  # CycleError names the modules of a cycle


def test_the_mathematics_knows_nothing_of_folders_and_commands():
    allowed = {"wordtide.types", "wordtide.errors", "wordtide.compiled"}
    assert {
        imported
        for name, found in own_imports().items()
        if name.startswith("wordtide.model.")
        for imported in found
        if not imported.startswith("wordtide.model")
    } <= allowed


def test_packages_stay_small():
    sizes = Counter(name.rpartition(".")[0] for name, path in modules().items() if path.name != "__init__.py")
    assert {package: size for package, size in sizes.items() if size > 14} == {}


def test_module_names_are_unique():
    found = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py" and not name.startswith("wordtide.cli."):  # which mirrors the commands
            found[name.rpartition(".")[2]].append(name)
    assert {base: names for base, names in found.items() if len(names) > 1 and base not in SAME_KINDS} == {}


def test_heavy_libraries_are_imported_at_one_door():
    known = modules()
    roots = {name: {found.split(".")[0] for found in imports_of(path, known)} for name, path in known.items()}
    assert [name for name, found in roots.items() if "torch" in found] == []
    assert [name for name, found in roots.items() if "numba" in found] == ["wordtide.compiled"]
    assert [
        name for name, found in roots.items() if found & {"pickle", "dill", "joblib", "shelve", "marshal"}
    ] == []


@pytest.mark.parametrize("arguments", [["--help"], ["count", "--help"], ["--version"]])
def test_help_needs_no_compiler(arguments):
    code = (
        f"import sys; sys.argv = {['wordtide', *arguments]!r}\n"
        "from wordtide.cli.app import main\n"
        "try:\n main()\nexcept SystemExit: pass\n"
        "print({'numba', 'pyarrow'} & set(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "set()"


def test_modules_stay_small():
    assert {
        name: lines for name, path in modules().items() if (lines := len(path.read_text().splitlines())) > 350
    } == {}
