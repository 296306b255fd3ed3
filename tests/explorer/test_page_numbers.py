"""The page's numbers are those of the library's formulas."""

import numpy as np
import pytest
from explorer.page_driving import folder_served, opened, single_file_of
from explorer.page_world import TIMES, World

from wordtide.questions.neighbors import Candidates, _draws, share_among_best
from wordtide.questions.similarity import interval, similarities

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["single file, noise by axis", "folder, noise alike"])
def asked(request, tmp_path_factory):
    """A page, and the world it shows."""
    folder = tmp_path_factory.mktemp("numbers")
    if request.param.startswith("single file"):
        with opened(single_file_of(folder)) as found:
            yield found, World()
    else:
        world = World(profiled=False)
        with folder_served(folder, world.remote()) as address, opened(address) as found:
            yield found, world


def test_similarities_of_all_pairs_and_slices_are_the_librarys(asked):
    page, world = asked
    words = list(world.words)[::3]
    told = page.ask(
        "async words => Promise.all(words.flatMap(a => words.map(b => wordtide.similarity(a, b))))", words
    )
    numbers = [world.number(word) for word in words]
    for place, curve in enumerate(told):
        one, other = numbers[place // len(words)], numbers[place % len(words)]
        assert [point["time"] for point in curve] == list(TIMES)
        for slice_number, point in enumerate(curve):
            if not world.q[one, slice_number].any() or not world.q[other, slice_number].any():
                assert point["similarity"] != point["similarity"]  # not a number: no direction
                continue
            if one == other:
                assert (point["similarity"], point["low"], point["high"]) == (1.0, 1.0, 1.0)
                continue
            found = similarities(world.scaled([one], slice_number), world.scaled([other], slice_number))
            low, high = found.interval()
            expected = [found.mean[0], low[0], high[0]]
            assert np.allclose([point["similarity"], point["low"], point["high"]], expected, atol=1e-6)


@pytest.mark.parametrize("slice_number", [0, 4, 8])
def test_neighbors_are_the_settled_words_in_the_order_of_the_library(asked, slice_number):
    page, world = asked
    for word in world.words[::4]:
        number = world.number(word)
        told = page.ask("([word, time]) => wordtide.neighbors(word, time, 10)", [word, TIMES[slice_number]])
        order, scaled = _candidates(world, number, slice_number)
        found = similarities(scaled, world.scaled([number], slice_number))
        nearest = np.argsort(-found.mean / scaled.length, kind="stable")  # by the cosines of means
        listed = Candidates(order, found, np.zeros(len(order)), scaled.length).taken(nearest)
        listed = listed.ranked("similarity", 10)
        assert [one["word"] for one in told] == [world.words[other] for other in listed.words]
        assert np.allclose([one["similarity"] for one in told], listed.similarity.mean, atol=1e-5)


@pytest.mark.parametrize("slice_number", [0, 4, 8])
def test_neighbors_that_do_not_occur_near_the_slice_are_inferred(asked, slice_number):
    page, world = asked
    told = page.ask("time => wordtide.neighbors('energy', time, 60)", TIMES[slice_number])
    expected = world.inferred(slice_number)
    assert {near["inferred"] for near in told} == {True, False}
    assert [near["inferred"] for near in told] == [
        bool(expected[world.number(near["word"])]) for near in told
    ]


def test_probabilities_are_the_librarys_up_to_the_noise_of_draws(asked):
    page, world = asked
    for word in ("energy", "peace", "__proto__"):
        number, slice_number = world.number(word), 5
        told = page.ask("([word, time]) => wordtide.neighbors(word, time, 10)", [word, TIMES[slice_number]])
        order, scaled = _candidates(world, number, slice_number)
        one = world.scaled([number], slice_number)[0]
        shares = share_among_best(_draws(one, scaled, similarities(scaled, one).stretch, seed=number), 10)
        expected = {world.words[other]: share for other, share in zip(order, shares, strict=True)}
        # two lots of 1,000 draws each: five standard errors of a difference are at most 0.11
        assert all(abs(near["probability"] - expected[near["word"]]) < 0.11 for near in told)
        again = page.ask("([word, time]) => wordtide.neighbors(word, time, 10)", [word, TIMES[slice_number]])
        assert again == told


def test_positions_between_poles_are_the_librarys(asked):
    page, world = asked
    words, low_pole, high_pole = ["nurse", "army", "constructor"], ["he", "man"], ["she", "woman", "🎉"]
    told = page.ask(
        "([words, a, b]) => Promise.all(words.map(word => wordtide.axis(word, a, b)))",
        [words, low_pole, high_pole],
    )
    weights = {**dict.fromkeys(low_pole, -0.5), **dict.fromkeys(high_pole, 1 / 3)}
    for word, curve in zip(words, told, strict=True):
        for slice_number, point in enumerate(curve):
            one = world.scaled([world.number(word)], slice_number)
            ends = {pole: world.scaled([world.number(pole)], slice_number) for pole in weights}
            direction = sum(weight * ends[pole].mean[0] for pole, weight in weights.items())
            variance = direction**2 @ one.variance[0]
            variance += sum(
                w**2 * ((one.mean[0] ** 2 + one.variance[0]) @ ends[pole].variance[0])
                for pole, w in weights.items()
            )
            position = one.mean[0] @ direction
            low, high = interval(position, np.sqrt(variance), most=2.0)
            assert np.allclose(
                [point["position"], point["low"], point["high"]], [position, low, high], atol=1e-6
            )


def _candidates(world, number, slice_number):
    """Settled words other than the one asked about, and their vectors."""
    settled = np.flatnonzero(world.settled[:, slice_number])
    order = settled[settled != number]
    return order, world.scaled(order, slice_number)
