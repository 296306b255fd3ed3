"""Compiled kernels on disk: loaded again when nothing changed, compiled again when anything they use did.

Kernels that were loaded give the same bits as those that were compiled.
"""

import importlib
import pkgutil
import sys

import pytest
from numba.core.caching import IndexDataCacheFile

import wordtide
from wordtide.compiled import is_cached, notice_of_compiling

KERNEL = """
from called import LIMIT, Pair, weigh
from wordtide.compiled import arithmetic


@arithmetic
def total(x):
    return weigh(x) + LIMIT + Pair(1, 10).first
"""
CALLED = """
from typing import NamedTuple

from wordtide.compiled import elementary, kernel

LIMIT = 1000
_FACTOR = 2


class Pair(NamedTuple):
    first: int
    second: int


@elementary
def weigh(x):
    return raise_(x)


@kernel
def raise_(x):
    return _FACTOR * x
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A function that writes the two files, imports them like a new process, and calls the kernel with 3:
    returns the result, and whether the machine code came from disk. It ran before with `CALLED`.
    """
    folder = tmp_path_factory.mktemp("kernels")

    def with_called(source, kernel=KERNEL, argument=3):
        (folder / "calling.py").write_text(kernel)
        (folder / "called.py").write_text(source)
        for name in ("calling", "called"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        total = importlib.import_module("calling").total
        return total(argument), bool(total.stats.cache_hits)

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(sys, "dont_write_bytecode", True)
        assert with_called(CALLED) == (1007, False)
        yield with_called
    for name in ("calling", "called"):
        sys.modules.pop(name, None)


def test_a_kernel_is_loaded_from_disk_if_nothing_changed(run):
    assert run(CALLED) == (1007, True)
    assert run("# a comment\n" + CALLED) == (1007, True)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("return _FACTOR * x", "return _FACTOR * x + 50", 1057),
        ("_FACTOR = 2", "_FACTOR = 4", 1013),
        ("LIMIT = 1000", "LIMIT = 2000", 2007),
        ("first: int\n    second: int", "second: int\n    first: int", 1016),
        ("return raise_(x)", "return 100 * raise_(x)", 1601),
    ],
)
def test_a_kernel_is_compiled_again_if_a_function_or_constant_of_another_file_changed(
    run, before, after, expected
):
    assert run(CALLED.replace(before, after)) == (expected, False)
    assert run(CALLED) == (1007, True)


def test_a_kernel_is_compiled_again_if_the_options_of_a_function_it_calls_changed(run):
    assert run(CALLED.replace("@elementary", "@kernel")) == (1007, False)


def test_a_notice_appears_once_and_only_if_a_kernel_is_compiled(run):
    said = []
    run(CALLED)
    with notice_of_compiling(lambda: said.append("compiling")):
        run(CALLED)
        assert said == []
        for factor in (5, 6):
            assert run(CALLED.replace("_FACTOR = 2", f"_FACTOR = {factor}")) == (1001 + 3 * factor, False)
    assert said == ["compiling"]


def test_a_process_that_dies_while_it_saves_a_kernel_leaves_no_older_code_in_its_place(run, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    assert run(CALLED, KERNEL.replace("+ LIMIT", "- LIMIT")) == (-993, False)
    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_save_data", die)
        with pytest.raises(KeyboardInterrupt):
            run(CALLED)
    assert run(CALLED) == (1007, False)
    assert run(CALLED) == (1007, True)


def test_processes_that_compile_variants_of_a_kernel_at_the_same_time_do_not_mix_them_up(run, monkeypatch):
    save = IndexDataCacheFile._save_data
    source = CALLED + "# as nobody compiled it before\n"
    kernel = KERNEL + "# nor this one\n"

    def save_after_another(self, name, data):
        if name.startswith("calling.total"):
            with monkeypatch.context() as patch:  # the other one looked before this one saved anything
                patch.setattr(IndexDataCacheFile, "_save_data", save)
                patch.setattr(IndexDataCacheFile, "_load_index", lambda _: {})
                assert run(source, kernel, 2.5)[0] == 1006.0
        save(self, name, data)

    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_save_data", save_after_another)
        assert run(source, kernel) == (1007, False)
    assert run(source, kernel, 2.5)[0] == 1006.0
    assert run(source, kernel)[0] == 1007


def reorders_sums(compiled):
    return "reassoc" in compiled.targetoptions.get("fastmath", ())


def test_kernels_contain_the_code_of_all_that_reorders_sums():
    """A function with code of its own would run as it was compiled alone, or in a kernel, depending on which came
    first: sums differ.
    """
    every = {}
    for found in pkgutil.walk_packages(wordtide.__path__, "wordtide."):
        if not found.name.endswith("__main__"):
            members = vars(importlib.import_module(found.name)).values()
            every |= {id(value): value for value in members if hasattr(value, "py_func")}
    apart = {key for key, value in every.items() if reorders_sums(value) and is_cached(value)}
    assert len(apart) >= 10
    calls = [
        (value.py_func.__qualname__, name)
        for value in every.values()
        for name in value.py_func.__code__.co_names
        if id(value.py_func.__globals__.get(name)) in apart
    ]
    assert calls == []
