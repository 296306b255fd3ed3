"""Dependencies: tested lower bounds, permissive licences, and no code that executes input."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from hostile.auditing import main as audit
from hostile.auditing import report
from hostile.licences import is_allowed, licence_of, packages_of

import wordtide

ROOT = Path(__file__).parents[2]


def pins(name):
    """The exact versions in a file of constraints."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(
        re.fullmatch(r"([\w.-]+)==(\S+)", line).groups()
        for line in lines
        if line and not line.startswith("#")
    )


def bounds():
    """The main dependencies, and the lowest version of each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["cluster"], *extras["documents"]]
    return dict(re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=(\S+)", line).groups() for line in wanted)


def padded(version):
    return tuple(map(int, f"{version}.0.0".split(".")[:3]))


def test_the_lowest_tested_versions_are_the_bounds():
    lowest = pins("constraints-lowest.txt")
    assert {name: padded(lowest[name]) for name in bounds()} == {
        name: padded(bound) for name, bound in bounds().items()
    }


def test_the_newest_tested_versions_are_within_the_bounds():
    newest = pins("constraints.txt")
    assert all(padded(newest[name]) >= padded(bound) for name, bound in bounds().items())


def test_all_licences_of_dependencies_are_allowed():
    found = packages_of("wordtide")
    assert len(found) > 10
    assert {
        name: licence_of(package) for name, package in found.items() if not is_allowed(licence_of(package))
    } == {}


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("(MIT AND GPL-2.0-only) OR GPL-2.0-only", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_licence_expressions_are_parsed(licence, allowed):
    assert is_allowed(licence) is allowed


def test_no_input_can_be_executed():
    """No pickle, marshal, shelve, eval or exec anywhere in the package."""
    for path in Path(wordtide.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name.split(".")[0] for alias in node.names} | {
                    (getattr(node, "module", "") or "").split(".")[0]
                }
                assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                plain = isinstance(node.func, ast.Name)
                assert not (plain and called in ("eval", "exec", "compile")), path
                for keyword in node.keywords:
                    is_pickle = (
                        keyword.arg == "allow_pickle" and getattr(keyword.value, "value", None) is not False
                    )
                    assert not is_pickle, path


@pytest.mark.parametrize(
    ("packages", "code"),
    [
        ([], 0),
        ([{"name": "a", "skip_reason": "not found"}], 0),
        ([{"name": "a", "version": "1", "vulns": []}], 0),
        (
            [
                {"name": "a", "version": "1", "vulns": [{"id": "X-1"}]},
                {"name": "b", "version": "1", "vulns": []},
            ],
            1,
        ),
    ],
)
def test_only_known_vulnerabilities_fail_the_audit(packages, code):
    assert report(packages) == code


def test_an_audit_without_its_service_is_no_error(tmp_path, capsys):
    assert audit(str(tmp_path / "nothing")) == 0
    assert "not made" in capsys.readouterr().out
