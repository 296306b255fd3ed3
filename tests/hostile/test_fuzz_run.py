"""`make fuzz` runs every target, and its table counts inputs and findings."""

import json
import subprocess
from pathlib import Path

import every_target
import pytest

SAID = "#9\tREDUCE cov: 12 ft: 20\n#400\tDONE   cov: 31 ft: 44\nstat::number_of_executed_units: 1234\n"
FINDING = (
    " === Uncaught Python exception: ===\nValueError: x\n#7 cov: 5 ft: 6\nstat::number_of_executed_units: 7\n"
)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Run the targets with outputs by target, and return exit code and rows of the table."""

    def run(outputs):
        def answer(command, **_):
            said = outputs[command[4]]
            return subprocess.CompletedProcess(command, 77 if said != SAID else 0, said.encode())

        monkeypatch.setenv("WORDTIDE_RESULTS", str(tmp_path))
        monkeypatch.setattr("sys.argv", ["every_target.py", *outputs, "--seconds", "3"])
        monkeypatch.setattr(subprocess, "run", answer)
        with pytest.raises(SystemExit) as ended:
            every_target.main()
        written = tmp_path / "fuzz.json"
        return ended.value.code, json.loads(written.read_text())[""]["rows"] if written.exists() else None

    return run


def test_inputs_and_findings_are_added_up_and_a_finding_does_not_stop_the_others(rows):
    code, found = rows({"dates": FINDING, "json_lines": SAID})
    assert found == [
        ["dates", "7", "5", "1"],
        ["json_lines", "1,234", "31", "0"],
        ["all", "1,241", "36", "1"],
    ]
    assert code == 1
    assert rows({"json_lines": SAID})[0] == 0


def test_a_target_that_does_not_run_is_an_error_and_leaves_no_table(rows):
    assert rows({"dates": "ModuleNotFoundError: No module named 'atheris'"}) == ("dates did not run.", None)


def test_without_names_all_targets_run():
    folder = Path(every_target.__file__).parent / "targets"
    helpers = {"__init__", "damaging", "modelling", "reading"}
    assert set(every_target.all_targets()) == {path.stem for path in folder.glob("*.py")} - helpers
