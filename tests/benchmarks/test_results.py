"""Figures in README and docs come from the files that benchmarks write."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import results
from results import NUMBER, Result, Table, figure, filled, keep, load

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
#: Phrases of the README with numbers that nobody measured: settings, versions, names.
NOT_MEASURED = (
    r"Python 3\.\d+( to 3\.\d+)?",
    r"\b(1[5-9]|20)\d\d(\.\d)?\b",  # years
    r"x86-64",
    r"\d+% (credible )?intervals?",
    r"[\d,]+ (slices|words|dimensions)",
)
#: Tables of the evidence page that summarize runs by hand or are older than the files. Lower it as they are replaced.
WRITTEN_BY_HAND = 1


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDTIDE_RESULTS", str(tmp_path))


def prose(text: str) -> str:
    """A Markdown text without code, targets of links, alternative texts, comments and marked figures."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    text = re.sub(rf"<!-- result: .*?-->{NUMBER.pattern}", "", text, flags=re.DOTALL)
    text = re.sub(r"<!-- table: .*?<!-- /table -->", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->|`[^`]*`|!\[[^\]]*\]|\]\([^)]*\)|<[^>]*>", "", text, flags=re.DOTALL)
    for phrase in NOT_MEASURED:
        text = re.sub(phrase.replace(" ", r"\s+"), "", text)
    return text


def test_every_number_in_the_readme_is_a_marked_result_or_no_measurement() -> None:
    unmarked = [
        line
        for line in prose((ROOT / "README.md").read_text(encoding="utf-8")).splitlines()
        if NUMBER.search(line)
    ]
    # "3.12, 3.13": versions in a column of their own
    assert [line for line in unmarked if not re.search(r"^\|.*\| 3\.\d+", line)] == []


def test_no_table_is_added_to_the_evidence_page_by_hand() -> None:
    text = prose((ROOT / "docs" / "evidence.md").read_text(encoding="utf-8"))
    tables = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    assert sum(bool(NUMBER.search(table)) for table in tables) <= WRITTEN_BY_HAND


@pytest.mark.parametrize("page", list(results.pages()), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_marked_figures_and_tables_are_those_of_the_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_results_files_say_when_and_how_they_were_measured_and_nothing_about_the_host(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"/(tmp|home|work|root|Users)/", text)
    assert text == results._as_json(json.loads(text))
    for table in json.loads(text).values():
        found = Result(**table)
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", found.date)
        assert found.command.startswith("python ")
        assert found.version
        assert found.machine
        assert found.rows
        assert {len(row) for row in found.rows} == {len(found.columns)}


@pytest.mark.usefixtures("_elsewhere")
def test_a_table_is_kept_as_printed_and_other_tables_of_the_file_stay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, seconds in (("speed.small", "1.25"), ("speed.large", "10.50"), ("speed.small", "1.30")):
        with Table(name, ("what", "seconds"), "A title") as table:
            table.row("count", seconds)
            table.note("A note.")
    assert (load("speed.small").rows, load("speed.large").rows) == ([["count", "1.30"]], [["count", "10.50"]])
    assert load("speed.small").notes == ["A note."]
    assert (
        "\nA title\n\n| what | seconds |\n|---|---|\n| count | 1.30 |\n\nA note.\n" in capsys.readouterr().out
    )


@pytest.mark.usefixtures("_elsewhere")
def test_a_run_that_fails_leaves_the_file_as_it_was() -> None:
    keep("speed", Result(["what", "seconds"], [["count", "1"]]))
    with pytest.raises(ZeroDivisionError), Table("speed", ("what", "seconds")) as table:
        table.row("count", 1 / 0)
    assert load("speed").rows == [["count", "1"]]


@pytest.mark.usefixtures("_elsewhere")
def test_a_row_with_a_missing_cell_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="1 cells for 2 columns"),
        Table("speed", ("what", "seconds")) as table,
    ):
        table.row("count")


@pytest.mark.usefixtures("_elsewhere")
def test_marks_are_filled_with_figures_and_tables() -> None:
    rows = [["tied", "100", "1,234.56 s"], ["tied", "50", "−.5"], ["separate", "100", "7 / 8"]]
    keep(
        "fit",
        Result(
            ["contexts", "d", "measured"],
            rows,
            date="2026-01-02",
            command="python x.py",
            version="1",
            machine="a machine",
        ),
    )
    assert figure("fit :: tied, 100 :: measured") == "1,234.56"
    assert figure("fit :: tied, 100 :: measured :: .0f") == "1235"
    assert figure("fit :: tied, 50 :: #3") == "−.5"
    assert (
        filled("<!-- result: fit :: separate :: measured -->9 s")
        == "<!-- result: fit :: separate :: measured -->7 s"
    )
    marked = "<!-- table: fit :: contexts; d :: separate -->\n{}<!-- /table -->"
    assert filled(marked.format("| old |\n")) == marked.format(
        "| contexts | d |\n|---|---:|\n| separate | 100 |\n\n*`python x.py`, 2026-01-02, version 1*\n"
    )


@pytest.mark.usefixtures("_elsewhere")
def test_a_mark_may_ask_for_the_first_rows() -> None:
    keep("changed", Result(["word"], [["energy"], ["welfare"], ["year"]], command="python x.py"))
    marked = filled("<!-- table: changed :: word :: first 2 -->\n<!-- /table -->")
    assert "| energy |\n| welfare |\n\n" in marked


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("none :: a :: b", "no file none.json"),
        ("fit.none :: a :: b", "no table 'none'"),
        ("fit :: tied :: d", "2 rows match 'tied'"),
        ("fit :: shared :: d", "0 rows match 'shared'"),
        ("fit :: 100 :: seconds", "0 columns are 'seconds'"),
        ("fit :: 100 :: contexts", "no number in 'tied'"),
    ],
)
def test_a_mark_that_names_no_figure_is_an_error(key: str, message: str) -> None:
    keep("fit", Result(["contexts", "d"], [["tied", "100"], ["tied", "50"]]))
    with pytest.raises(LookupError, match=message):
        figure(key)


def test_commands_are_kept_without_the_folders_of_files() -> None:
    script = str(ROOT / "benchmarks" / "phrases.py")
    given = [script, "/data/x/un.jsonl.gz", "en=/tmp/models/en/", "--every", "5-years", "--ask", "a b"]
    expected = "python benchmarks/phrases.py un.jsonl.gz en=en --every 5-years --ask 'a b'"
    assert results.command_line(given) == expected


def test_the_command_checks_all_pages() -> None:
    script = ROOT / "benchmarks" / "results.py"
    found = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
