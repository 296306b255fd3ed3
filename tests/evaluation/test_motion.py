"""How words move: the same slices and words for all models, and numbers that separate jumps from paths."""

import numpy as np
import pytest
from embeddings.models import model_of
from oracles.model import problem_from, random_counts

from wordtide.embeddings.posterior import Posterior
from wordtide.evaluation.comparison import distances_in, motion_row, windows_of
from wordtide.model.prior import ProductPrior

SLICES, SIZE, DIM = 13, 5, 2
TIMES = np.arange(1900.0, 1900.0 + SLICES)


@pytest.fixture(scope="module")
def problem():
    """Thirteen slices of five words; the last word is absent from slice 7."""
    rng = np.random.default_rng(0)
    active = [range(SIZE - (t == 7)) for t in range(SLICES)]
    return problem_from([random_counts(rng, SIZE, list(words)) for words in active], TIMES)


def moving(path):
    """A model whose words all go the same way: `path` gives the place (d,) at slice t."""
    places = {f"word{i}": list(range(SLICES)) for i in range(SIZE)}
    diffusion = ProductPrior(TIMES, 1.0, 1.0)
    template = model_of("point", places, diffusion).fitted.posterior
    mean = np.array([path(t) for _ in range(SIZE) for t in range(SLICES)], dtype=np.float32)
    return model_of("point", places, diffusion, posterior=Posterior("point", template.knots, mean, mean))


def row_of(model, windows):
    return motion_row("warm-start", model, windows, distances_in(model, windows))


def test_slices_left_out_are_not_measured(problem):
    (window,) = windows_of(problem, [3, 6])
    assert window.times.tolist() == [time for t, time in enumerate(TIMES) if t not in (3, 6)]


def test_words_are_those_that_occur_in_every_slice(problem):
    (window,) = windows_of(problem, [3, 6])
    assert window.words.tolist() == [0, 1, 2, 3]


def test_a_word_absent_only_outside_the_window_is_measured(problem):
    (window,) = windows_of(problem, [3, 7])
    assert window.words.tolist() == [0, 1, 2, 3, 4]


def test_windows_are_adjacent_and_end_with_the_last_slice(problem):
    windows = windows_of(problem, [], furthest=3)
    assert [window.times.tolist() for window in windows] == [
        TIMES[1:5].tolist(),
        TIMES[5:9].tolist(),
        TIMES[9:].tolist(),
    ]


def test_few_slices_make_a_shorter_window(problem):
    (window,) = windows_of(problem, range(1, SLICES - 1))
    assert window.times.tolist() == [TIMES[0], TIMES[-1]]


def test_distances_are_from_the_start_of_the_window(problem):
    model = moving(lambda t: (3.0 * t, 4.0 * t))
    distances = distances_in(model, windows_of(problem, [3, 6]))
    assert distances[3] == pytest.approx(np.full(4, 20.0))  # slices 0 and 4: the one between is left out


def test_a_straight_path_has_directedness_10(problem):
    row = row_of(moving(lambda t: (1.0 * t, 1.0)), windows_of(problem, [11, 12]))
    assert row["directedness"] == pytest.approx(10.0)


def test_jumps_around_a_point_have_directedness_1(problem):
    rng = np.random.default_rng(1)
    row = row_of(moving(lambda t: rng.standard_normal(DIM)), windows_of(problem, []))
    assert row["directedness"] == pytest.approx(1.0, abs=0.6)


def test_the_relative_step_is_in_lengths_of_the_vector(problem):
    row = row_of(moving(lambda t: (0.0, 5.0 - t)), windows_of(problem, [11, 12]))
    assert row["relative_step"] == pytest.approx(0.2)


def test_words_that_do_not_move_have_no_directedness(problem):
    assert row_of(moving(lambda t: (1.0, 2.0)), windows_of(problem, []))["directedness"] is None


def test_without_common_words_there_is_no_window():
    rng = np.random.default_rng(0)
    matrices = [random_counts(rng, 6, [t, t + 1]) for t in (0, 2, 4)]
    assert windows_of(problem_from(matrices, [1900.0, 1901.0, 1902.0]), []) == []
