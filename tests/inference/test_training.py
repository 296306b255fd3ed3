"""The training loop: its curve, its checkpoints, and its response to divergence."""

import contextlib
import math
from dataclasses import replace

import pytest

from wordtide.errors import WordtideError
from wordtide.inference.training import Diverged, Report, train
from wordtide.progress import Observer

LABELS = ["1900", "1910", "1920"]


class FakeSolver:
    """Makes `steps` steps at slice 1, and diverges before those named in `bad` as often as they are named."""

    def __init__(self, steps=5, bad=(), where=1):
        self.steps, self.where = steps, where
        self.bad = list(bad)
        self.done = 0
        self.rate = 1.0

    def advance(self):
        if self.done == self.steps:
            return None
        if self.done + 1 in self.bad:
            self.bad.remove(self.done + 1)
            raise Diverged(self.where)
        self.done += 1
        return Report(self.done, self.where, -1.0 / self.done if self.done % 2 == 0 else math.nan, self.rate)

    def state(self):
        return {"done": self.done}

    def restore(self, state):
        self.done = state["done"]

    def slow_down(self):
        self.rate *= 0.5
        self.done = 0


class Listener(Observer):
    def __init__(self):
        self.events, self.done = [], 0

    def message(self, text):
        self.events.append(text)

    def start(self, stage, total=0, unit="steps"):
        self.events.append(("start", stage, total))

    def step(self, amount=1, status=""):
        self.done += amount
        self.events.append(self.done)

    def finish(self):
        self.events.append("finish")


class EverySecond:
    """Keeps a checkpoint of every second step."""

    stopping = False

    def __init__(self):
        self.asked = 0
        self.saved = []

    def between_steps(self):
        return contextlib.nullcontext()

    def due(self):
        self.asked += 1
        return self.asked % 2 == 0

    def save(self, stage, state, curve):
        self.saved.append((stage, state, [row["step"] for row in curve]))


def messages_of(listener):
    return [event for event in listener.events if isinstance(event, str) and event != "finish"]


def test_the_curve_has_a_row_for_each_step():
    curve = train(FakeSolver(), "test", LABELS, Observer())
    assert [(row["step"], row["slice"], row["rate"]) for row in curve] == [
        (step, 1, 1.0) for step in range(1, 6)
    ]


def test_an_elbo_that_was_not_measured_is_none_in_the_curve():
    curve = train(FakeSolver(), "test", LABELS, Observer())
    assert [row["elbo"] for row in curve] == [None, -0.5, None, -0.25, None]


def test_the_observer_sees_start_steps_and_finish():
    listener = Listener()
    train(FakeSolver(3), "test", LABELS, listener)
    assert listener.events == [("start", "test", 3), 1, 2, 3, "finish"]


def test_the_observer_sees_the_finish_of_a_fit_that_fails():
    listener = Listener()
    with pytest.raises(WordtideError):
        train(FakeSolver(bad=[2] * 99), "test", LABELS, listener)
    assert listener.events[-1] == "finish"


class NotingSolver(FakeSolver):
    """Adds a note to each report."""

    def advance(self):
        report = super().advance()
        return report and replace(report, note=f"{report.step} MB")


class StatusObserver(Observer):
    def __init__(self):
        self.messages, self.statuses = [], []

    def message(self, text):
        self.messages.append(text)

    def step(self, amount=1, status=""):
        self.statuses.append(status)


def test_the_status_has_the_latest_elbo_with_its_change_and_the_note_of_each_step():
    observer = StatusObserver()
    train(NotingSolver(), "test", LABELS, observer)
    assert observer.statuses == [
        "1 MB",
        "ELBO -0.5000; 2 MB",
        "ELBO -0.5000; 3 MB",
        "ELBO -0.2500 (+2.5e-01); 4 MB",
        "ELBO -0.2500 (+2.5e-01); 5 MB",
    ]


def test_the_first_note_is_also_a_message():
    observer = StatusObserver()
    train(NotingSolver(), "test", LABELS, observer)
    assert observer.messages == ["1 MB"]


def test_a_resumed_fit_starts_its_bar_at_the_steps_already_done():
    listener = Listener()
    solver = FakeSolver(5)
    solver.restore({"done": 2})
    train(solver, "test", LABELS, listener, curve=train(FakeSolver(2), "test", LABELS, Observer()))
    assert listener.events == [("start", "test", 5), 2, 3, 4, 5, "finish"]


def test_a_checkpoint_holds_the_state_and_the_curve_until_then():
    checkpoints = EverySecond()
    train(FakeSolver(), "test", LABELS, Observer(), checkpoints)
    assert checkpoints.saved == [("test", {"done": 2}, [1, 2]), ("test", {"done": 4}, [1, 2, 3, 4])]


def test_a_resumed_fit_continues_its_curve():
    begun = train(FakeSolver(2), "test", LABELS, Observer())
    solver = FakeSolver(5)
    solver.restore({"done": 2})
    curve = train(solver, "test", LABELS, Observer(), curve=begun)
    assert [row["step"] for row in curve] == [1, 2, 3, 4, 5]


def test_a_resumed_fit_continues_counting_seconds():
    begun = [{"step": 1, "slice": 1, "elbo": None, "rate": 1.0, "seconds": 1000.0}]
    curve = train(FakeSolver(2), "test", LABELS, Observer(), curve=begun)
    assert curve[-1]["seconds"] >= 1000.0


def test_a_resumed_fit_does_not_modify_the_saved_curve():
    begun = []
    train(FakeSolver(2), "test", LABELS, Observer(), curve=begun)
    assert begun == []


def test_a_solver_that_diverges_continues_with_half_the_rate():
    curve = train(FakeSolver(bad=[3]), "test", LABELS, Observer())
    assert [row["rate"] for row in curve] == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_a_divergence_is_reported_with_its_slice():
    listener = Listener()
    train(FakeSolver(bad=[3]), "test", LABELS, listener)
    assert messages_of(listener) == ["the fit diverged at slice 1910; continuing with half the rate"]


def test_a_divergence_of_all_slices_is_reported_without_a_slice():
    listener = Listener()
    train(FakeSolver(bad=[3], where=None), "test", LABELS, listener)
    assert messages_of(listener) == ["the fit diverged; continuing with half the rate"]


def test_a_solver_may_diverge_five_times():
    assert train(FakeSolver(bad=[1] * 5), "test", LABELS, Observer())[-1]["rate"] == 1 / 32


def test_a_solver_that_diverges_a_sixth_time_is_stopped_with_slice_and_rate():
    with pytest.raises(WordtideError) as caught:
        train(FakeSolver(bad=[1] * 6), "test", LABELS, Observer())
    assert caught.value.problem == "The fit diverged at slice 1910, even with 1/32 of the rate."


def test_a_solver_that_diverges_again_and_again_is_stopped_with_a_remedy():
    with pytest.raises(WordtideError) as caught:
        train(FakeSolver(bad=[1] * 6), "test", LABELS, Observer())
    assert all(
        option in caught.value.remedy
        for option in ("--rate", "--adam-rate", "--diffusion", "--prior-variance")
    )


def test_other_errors_of_a_solver_are_raised():
    class Broken(FakeSolver):
        def advance(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(Broken(), "test", LABELS, Observer())
