"""Planted worlds are what their plans say: counted by hand in the texts, and in the counts drawn from the
model.
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from simulation import Cast, PlantedWord, model_world, template_world
from simulation.plan import frequency_factor, share_moved

import wordtide
from wordtide.errors import SettingsError
from wordtide.timeline import float_year

SMALL = {"tokens": 60_000, "vocabulary": 400, "slices": 10, "topics": 6, "cast": Cast(2, 2, 1, 1, 1, 1, 1, 3)}
SMALL_MODEL = {"pairs": 2e5, "vocabulary": 60, "slices": 8, "dim": 4, "cast": Cast(2, 2, 1, 1, 1, 1, 1, 3)}


@pytest.fixture(scope="module")
def world():
    return template_world(seed=5, frequencies=(2e-3, 5e-3), **SMALL)


@pytest.fixture(scope="module")
def drawn():
    return model_world(seed=5, **SMALL_MODEL)


def year_of(date):
    day = np.datetime64(date, "D").astype(np.int64)
    return float_year(int(day) * 86_400 + 43_200)


def sentences(world):
    """Date and words of each sentence, by a rule of the test's own."""
    for date, text in world.documents:
        for sentence in text.lower().split("."):
            if sentence:
                yield year_of(date), re.findall(r"[a-z]+", sentence)


def company(world, word, since, until):
    """How often a word's sentences between two dates hold words of the place it comes from, and of that it
    goes to.
    """
    met = Counter(
        place
        for date, words in sentences(world)
        if since <= date < until and word.word in words
        for place, near in (("from", word.from_words), ("to", word.to_words))
        for other in words
        if other in near
    )
    return met["from"], met["to"]


def occurrences(world, word, since, until):
    """Share of a word in all words between two dates."""
    found = total = 0
    for date, words in sentences(world):
        if since <= date < until:
            found += words.count(word.word)
            total += len(words)
    return found / total


def kind(world, name):
    return [word for word in world.cast if word.kind == name]


def test_the_same_seed_gives_the_same_texts(world):
    assert template_world(seed=5, frequencies=(2e-3, 5e-3), **SMALL) == world


def test_another_seed_gives_other_texts(world):
    assert template_world(seed=6, frequencies=(2e-3, 5e-3), **SMALL).documents != world.documents


def test_every_word_is_known_to_the_tokeniser_as_it_is(world):
    texts = {word for _, words in sentences(world) for word in words}
    assert set(wordtide.count(world.documents).words) == texts


def test_every_planted_word_occurs(world):
    texts = {word for _, words in sentences(world) for word in words}
    assert {word.word for word in world.cast} <= texts


def test_a_world_has_about_the_words_it_is_asked_for(world):
    assert sum(len(words) for _, words in sentences(world)) == pytest.approx(SMALL["tokens"], rel=0.03)


def test_slices_are_irregular_years_and_vary_tenfold(world):
    counts = wordtide.count(world.documents)
    assert len(counts) == SMALL["slices"]
    assert len(set(np.diff([int(label) for label in counts.labels]))) > 1
    assert counts.slices.documents.max() / counts.slices.documents.min() == pytest.approx(10.0, rel=0.1)


def test_documents_stand_in_order_of_date(world):
    dates = [date for date, _ in world.documents]
    assert dates == sorted(dates)


@pytest.mark.parametrize("name", ["drift", "jump"])
def test_a_moving_word_is_in_the_first_company_before_and_in_the_second_after(world, name):
    for word in kind(world, name):
        before, after = company(world, word, 0.0, word.date_from), company(world, word, word.date_to, 9999.0)
        assert before[0] > 0
        assert before[1] == 0
        assert after[0] == 0
        assert after[1] > 0


def test_a_drifting_word_is_in_both_companies_on_its_way(world):
    for word in kind(world, "drift"):
        from_words, to_words = company(world, word, word.date_from, word.date_to)
        assert 0.2 < from_words / (from_words + to_words) < 0.8


def test_a_word_vanishes_at_its_date(world):
    (word,) = kind(world, "vanish")
    assert occurrences(world, word, 0.0, word.date_from) == pytest.approx(word.frequency, rel=0.4)
    assert occurrences(world, word, word.date_from, 9999.0) == 0.0


def test_a_word_appears_at_its_date(world):
    (word,) = kind(world, "appear")
    assert occurrences(world, word, 0.0, word.date_from) == 0.0
    assert occurrences(world, word, word.date_from, 9999.0) == pytest.approx(word.frequency, rel=0.4)


@pytest.mark.parametrize(("name", "least", "most"), [("up", 4.0, 25.0), ("down", 1 / 25, 1 / 4)])
def test_a_decoy_changes_its_frequency_about_tenfold(world, name, least, most):
    (word,) = kind(world, name)
    before, after = (
        occurrences(world, word, 0.0, word.date_from),
        occurrences(world, word, word.date_to, 9999.0),
    )
    assert least < after / before < most


def test_a_burst_is_about_tenfold_and_passes(world):
    (word,) = kind(world, "burst")
    inside = occurrences(world, word, word.date_from, word.date_to)
    assert 4.0 < inside / occurrences(world, word, 0.0, word.date_from) < 25.0
    assert 4.0 < inside / occurrences(world, word, word.date_to, 9999.0) < 25.0


def test_decoys_and_stable_words_keep_their_company(world):
    for word in (*world.decoys, *world.stable):
        assert word.from_words == word.to_words
        others = {near for other in world.planted for near in (*other.from_words, *other.to_words)} - set(
            word.from_words
        )
        for since, until in ((0.0, word.halfway), (word.halfway, 9999.0)):
            met = company(world, replace(word, to_words=tuple(others)), since, until)
            assert met[0] > 0
            assert met[1] == 0


def test_a_drifting_word_goes_evenly():
    word = PlantedWord("mill", "drift", 1900.0, 1910.0, (), (), 1e-3)
    assert share_moved(word, np.array([1890.0, 1900.0, 1905.0, 1910.0, 1920.0])).tolist() == [
        0.0,
        0.0,
        0.5,
        1.0,
        1.0,
    ]


def test_decoys_never_move():
    word = PlantedWord("mill", "up", 1900.0, 1910.0, (), (), 1e-3)
    assert share_moved(word, np.array([1890.0, 1905.0, 1920.0])).tolist() == [0.0, 0.0, 0.0]
    assert frequency_factor(word, np.array([1890.0, 1905.0, 1920.0])) == pytest.approx(
        [10**-0.5, 1.0, 10**0.5]
    )


def test_counts_from_the_model_are_the_same_for_the_same_seed(drawn):
    again = model_world(seed=5, **SMALL_MODEL)
    assert np.array_equal(again.counts.arrays.values, drawn.counts.arrays.values)
    assert (again.planted, again.changes) == (drawn.planted, drawn.changes)


def test_counts_from_the_model_survive_a_folder(drawn, tmp_path):
    drawn.counts.save(tmp_path / "counts")
    loaded = wordtide.Counts.load(tmp_path / "counts", check=True)
    assert all((loaded[t] != drawn.counts[t]).nnz == 0 for t in range(len(loaded)))
    assert (
        loaded.times.tolist()
        == drawn.counts.times.tolist()
        == pytest.approx(drawn.diffusion.times.tolist(), abs=0.01)
    )


def test_counts_from_the_model_are_symmetric_whole_numbers_of_the_size_asked_for(drawn):
    total = 0.0
    for matrix in drawn.counts:
        dense = matrix.toarray()
        assert np.array_equal(dense, dense.T)
        assert np.array_equal(dense, np.rint(dense))
        total += dense.sum()
    assert total == pytest.approx(SMALL_MODEL["pairs"], rel=0.05)


def test_scores_behind_the_counts_are_symmetric(drawn):
    scores = drawn.u @ drawn.v.transpose(0, 2, 1)
    assert scores == pytest.approx(scores.transpose(0, 2, 1))


def centred(matrix):
    """A matrix without what rows and columns have in common: frequencies drop out of logarithms of counts."""
    return matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean()


def test_pairs_are_drawn_with_the_odds_of_the_scores():
    world = model_world(
        seed=2, **{**SMALL_MODEL, "pairs": 1e8, "uneven": 1.0, "diffusion": 1e-8, "prior_variance": 4.0}
    )
    others = slice(len(world.cast), None)
    found = sum(matrix.toarray() for matrix in world.counts)[others, others]
    scores = (world.u[0] @ world.v[0].T)[others, others]
    apart = ~np.eye(len(found), dtype=bool)
    assert scores.std() > 0.5
    assert centred(np.log(found))[apart] == pytest.approx(centred(scores)[apart], abs=0.2)


def test_stable_words_of_a_model_world_stand_still_and_moving_ones_move(drawn):
    assert max(drawn.changes[word.word] for word in (*drawn.stable, *drawn.decoys)) == pytest.approx(
        0.0, abs=1e-9
    )
    assert min(drawn.changes[word.word] for word in drawn.moving) > 0.5


def test_a_word_that_jumps_takes_another_words_place_at_its_date(drawn):
    for word in kind(drawn, "jump"):
        path = drawn.u[:, drawn.counts.word_number(word.word)]
        step = np.linalg.norm(np.diff(path, axis=0), axis=1).argmax()
        assert drawn.diffusion.times[step] < word.date_from <= drawn.diffusion.times[step + 1]


@pytest.mark.parametrize(
    "settings",
    [
        {"slices": 2},
        {"tokens": 100},
        {"vocabulary": 60},
        {"topics": 1},
        {"uneven": 0.5},
        {"frequencies": (0.05, 0.1)},
        {"frequencies": (0.0, 1e-3)},
        {"first_year": 9995},
        {"seed": -1},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_world_of_text_that_cannot_be_is_refused(settings):
    with pytest.raises(SettingsError):
        template_world(**{**SMALL, **settings})


@pytest.mark.parametrize(
    "settings",
    [{"vocabulary": 20}, {"pairs": 0.0}, {"dim": 1}, {"slices": 1}, {"uneven": float("nan")}],
    ids=lambda settings: next(iter(settings)),
)
def test_a_world_of_counts_that_cannot_be_is_refused(settings):
    with pytest.raises(SettingsError):
        model_world(**{**SMALL_MODEL, **settings})


@pytest.mark.parametrize("numbers", [{"drift": 0, "jump": 0}, {"stable": 0}, {"up": -1}])
def test_a_cast_without_contrast_is_refused(numbers):
    with pytest.raises(SettingsError):
        Cast(**numbers)
