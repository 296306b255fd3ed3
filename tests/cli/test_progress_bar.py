"""The progress bar on a terminal: one bar at a time, the innermost stage."""

import io

from rich.console import Console

from wordtide.cli.output import ProgressBar


def bar_on_a_terminal():
    bar, screen = ProgressBar(), io.StringIO()
    bar._console = Console(file=screen, force_terminal=True, width=120)
    return bar, screen


def test_an_inner_stage_replaces_the_bar_of_the_outer_one_until_it_ends():
    bar, screen = bar_on_a_terminal()
    with bar.stage("outer", 2):
        bar.step()
        with bar.stage("inner", 5, "words"):
            bar.step(3, status="ELBO -0.6")
            bar._bars[-1].refresh()
            assert [progress.tasks[0].completed for progress in bar._bars] == [1, 3]
        bar.step()
        assert [progress.tasks[0].completed for progress in bar._bars] == [2]
    assert bar._bars == []
    shown = screen.getvalue()
    assert shown.index("outer") < shown.index("inner") < shown.rindex("outer")
    assert "3/5" in shown
    assert "ELBO -0.6" in shown


def test_messages_go_to_standard_error_without_a_terminal_too(capsys):
    bar = ProgressBar()
    with bar.stage("counting"):
        bar.message("3 slices left out")
    assert capsys.readouterr() == ("", "3 slices left out\n")
