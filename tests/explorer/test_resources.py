"""What the page is given: the library's numbers, rounded as stated, of exactly the words and slices it says."""

import math
from functools import cache

import numpy as np
import pytest
from explorer.small_pages import (
    HOSTILE,
    KINDS,
    block_of,
    lists_of,
    moving_model,
    opened,
    page_data,
    parsed,
    small_model,
    sum_of,
    undone,
)
from numpy.testing import assert_allclose, assert_array_equal
from oracles.questions import planted

from wordtide.explorer.page_data import gzipped, packed_json
from wordtide.explorer.page_views import PageSelection, select_all, thin_slices
from wordtide.explorer.quantization import (
    Block,
    differences_along_time,
    join_blocks,
    page_similarity,
    word_blocks,
)
from wordtide.explorer.resources import RemoteResources
from wordtide.explorer.single_file import Limits, embedded_resources
from wordtide.model.verdicts import Groups
from wordtide.progress import Observer
from wordtide.questions.change import changed
from wordtide.questions.contrasts import contrasts
from wordtide.questions.divided import divided, in_group
from wordtide.questions.effect import VERDICT
from wordtide.questions.movement import halfway, movement
from wordtide.questions.neighbors import neighbors
from wordtide.questions.similarity import scaled_words, similarities, similarity
from wordtide.questions.story import story
from wordtide.questions.vectors import vectors_of

each_kind = pytest.mark.parametrize("kind", KINDS)
BIG = Limits(10**9)
FIELDS = ("squared", "least", "spread", "noise")


def embedded(model, limits=BIG, **facts):
    return embedded_resources(page_data(model, **facts), limits, Observer())[0]


def fields_of(moved):
    return [getattr(moved, name)[0] for name in FIELDS]


@cache
def shared_model(kind):
    """A small model of each kind, which no test may change."""
    return small_model(kind)


@cache
def shared_page(kind):
    """The resources of the single file of each kind."""
    return embedded(shared_model(kind))


def header_of(kind):
    return parsed(shared_page(kind)["header.bin"])


def whole_block(kind):
    """All rows of the single file, with differences added up again."""
    header = header_of(kind)
    rows, slices = len(header["words"]) * len(header["slices"]), len(header["slices"])
    directions, noise, settled = block_of(shared_page(kind)["vectors.bin"], rows, header["dim"])
    return Block(undone(directions, slices).astype(np.int8), noise, settled)


@each_kind
def test_directions_are_the_means_in_steps_of_the_words_largest_coordinate(kind):
    model, header, block = shared_model(kind), header_of(kind), whole_block(kind)
    for place, word in enumerate(header["words"]):
        means = np.array([sum_of(model, word, time)[0] for time in model.times])
        largest = np.abs(means).max()
        steps = np.zeros_like(means) if largest == 0 else 127.0 * means / largest
        rows = block.directions[place * len(means) : (place + 1) * len(means)]
        assert np.abs(rows - steps).max() <= 0.5 + 1e-4


@each_kind
def test_noise_is_the_mean_variance_by_the_means_length(kind):
    model, header, block = shared_model(kind), header_of(kind), whole_block(kind)
    for row, noise in enumerate(block.noise.tolist()):
        word, time = header["words"][row // len(model)], model.times[row % len(model)]
        mean, variance = sum_of(model, word, time)
        if kind == "point":
            assert noise in (0.0, 65504.0)  # the largest without a direction
        elif not mean.any():
            assert noise == 65504.0
        else:
            assert noise == pytest.approx(math.sqrt(variance.mean()) / math.sqrt(mean @ mean), rel=1e-3)


@each_kind
def test_flags_tell_the_words_that_neighbors_are_taken_from(kind):
    model, header = shared_model(kind), header_of(kind)
    settled = whole_block(kind).settled.reshape(len(header["words"]), -1)
    for s, time in enumerate(model.times):
        asked = header["words"][3]
        listed = set(neighbors(model, asked, time, top=len(header["words"])).columns["word"])
        flagged = {word for place, word in enumerate(header["words"]) if settled[place, s]}
        assert listed == flagged - {asked}


@each_kind
def test_the_pages_similarity_is_the_librarys_but_for_rounding(kind):
    model, header, block = shared_model(kind), header_of(kind), whole_block(kind)
    slices = len(header["slices"])
    reach = 0.5 * math.sqrt(header["dim"]) / np.linalg.norm(block.directions.astype(float), axis=1).clip(1e-9)
    turned = np.arcsin(np.minimum(reach, 1.0))  # no further can rounding turn a direction
    for one, other in [(0, 1), (4, 9), (20, 3), (7, 8)]:
        true = similarity(model, header["words"][one], header["words"][other]).columns["similarity"]
        rows = one * slices + np.arange(slices), other * slices + np.arange(slices)
        found = page_similarity(block, *rows)[0]
        known = np.isfinite(true) & np.isfinite(found)
        assert known.sum() > 4
        assert (np.abs(found - true) <= turned[rows[0]] + turned[rows[1]] + 1e-6)[known].all()


@each_kind
def test_the_stated_error_of_similarity_holds_for_pairs_that_were_not_sampled(kind):
    model, header, block = shared_model(kind), header_of(kind), whole_block(kind)
    stated, slices = header["quantisation"]["similarity"], len(header["slices"])
    known = block.settled.reshape(-1, slices) > 0
    errors = []
    for one in range(0, 30, 3):
        for other in range(1, 30, 3):
            true = np.asarray(
                similarity(model, header["words"][one], header["words"][other]).columns["similarity"]
            )
            rows = one * slices + np.arange(slices), other * slices + np.arange(slices)
            both = known[one] & known[other]
            errors += np.abs(page_similarity(block, *rows)[0] - true)[both].tolist()
    assert 0 < stated < 0.05
    assert np.quantile(errors, 0.99) <= stated


def test_a_spread_with_noise_alike_along_all_axes_is_exact():
    means = np.random.default_rng(0).standard_normal((12, 4, 5))
    model = planted("filter", means, spread=0.4, times=[1900.0, 1901.0, 1902.0, 1903.0])
    resources = embedded(model)
    header = parsed(resources["header.bin"])
    block = Block(*block_of(resources["vectors.bin"], 48, 5))
    block = Block(undone(block.directions, 4).astype(np.int8), block.noise, block.settled)
    spread = page_similarity(block, 2 * 4 + np.arange(4), 7 * 4 + np.arange(4))[1]
    numbers = [model.index[header["words"][number]] for number in (2, 7)]
    true = similarities(*scaled_words(vectors_of(model), numbers, model.times))
    assert_allclose(spread, true.spread, atol=4e-3)
    # exact but for the cosine in it, which is that of rounded directions
    assert header["quantisation"]["spread"] < header["quantisation"]["similarity"]


def test_the_profile_of_the_noise_brings_spreads_nearer_to_the_librarys():
    generator = np.random.default_rng(1)
    spread = np.broadcast_to(np.array([0.01, 0.05, 0.1, 0.5, 1.0]), (12, 4, 5))
    model = planted(
        "filter", generator.standard_normal((12, 4, 5)), spread, times=[1900.0, 1901.0, 1902.0, 1903.0]
    )
    header = parsed(embedded(model)["header.bin"])
    assert np.mean(header["noise_profile"]) == pytest.approx(1.0, abs=1e-5)
    assert header["quantisation"]["profiled_spread"] < 0.02 < header["quantisation"]["spread"]


def test_a_method_without_posterior_has_no_noise_and_says_so():
    header = header_of("point")
    assert (header["uncertain"], header["noise_profile"], header["quantisation"]["spread"]) == (
        False,
        None,
        None,
    )
    assert "without an interval" in header["estimand"]
    assert all("90%" in header_of(kind)["estimand"] for kind in ("smoother", "filter"))


@each_kind
def test_words_with_times_of_their_own_move_as_each_does_alone(kind):
    model = shared_model(kind)
    vectors, words = vectors_of(model), np.array([0, 3, 4, 9, 15])
    starts, ends = (
        np.array([1895.0, *model.times[[0, 2, 0]], 1901.5]),
        np.array([*model.times[[3, 8, 5]], 1990.0, 1911.25]),
    )
    together = movement(vectors, words, starts, ends)
    dates, pairs = halfway(model, vectors, words, starts, ends), contrasts(vectors, words, starts, ends)
    for n, word in enumerate(words):
        alone = np.array([word]), float(starts[n]), float(ends[n])
        assert_allclose(
            [getattr(together, name)[n] for name in FIELDS], fields_of(movement(vectors, *alone)), rtol=1e-5
        )
        assert_allclose(
            list(vars(dates[n]).values()), list(vars(halfway(model, vectors, *alone)[0]).values()), rtol=1e-9
        )
        assert pairs[n] == contrasts(vectors, *alone)[0]


@each_kind
def test_every_story_is_the_one_that_the_library_tells(kind):
    model, words = shared_model(kind), header_of(kind)["words"]
    for word, told in zip(words, parsed(shared_page(kind)["stories.bin"]), strict=True):
        facts = story(model, word).facts
        assert told["sentence"] == facts["sentence"]
        assert ", ".join(told["from"]) == facts["from"]
        assert ", ".join(told["to"]) == facts["to"]
        assert (told["verdict"], told["shape"]) == (facts["verdict"], facts["shape"])
        numbers = set(VERDICT) - {"verdict", "shape"}
        for name in (
            "since",
            "until",
            "change",
            "low",
            "high",
            "halfway",
            "halfway_from",
            "halfway_to",
            *numbers,
        ):
            if facts[name] is None or math.isnan(facts[name]):
                assert told[name] is None
            else:
                assert told[name] == pytest.approx(facts[name], abs=1e-6)


def test_words_for_curves_are_some_left_and_some_come_to_all_on_the_page():
    model = small_model(words=60, dim=8, seed=3)
    resources = embedded(model, Limits(10**9, words=40))
    header, stories = parsed(resources["header.bin"]), parsed(resources["stories.bin"])
    assert len(stories) == len(header["words"]) == 40
    assert max(len(told["beside"]) for told in stories) == 6
    for told in stories:
        assert len(set(told["beside"])) == len(told["beside"]) <= 6
        assert set(told["beside"]) <= set(header["words"]) & {*told["from"], *told["to"]}
        for side in ("from", "to"):
            assert set(told["beside"]) & set(told[side]) or not set(told[side]) & set(header["words"])


@each_kind
def test_the_table_of_changed_words_is_the_librarys(kind):
    model, words = shared_model(kind), header_of(kind)["words"]
    table, answer = parsed(shared_page(kind)["changed.bin"]), changed(model, top=len(model.words))
    assert [words[place] for place in table["columns"]["word"]] == answer.columns["word"]
    for name, values in answer.columns.items():
        if name != "word":
            for found, wanted in zip(table["columns"][name], values, strict=True):
                if wanted is None or isinstance(wanted, str):
                    assert found == wanted
                else:
                    assert (math.nan if found is None else found) == pytest.approx(
                        float(wanted), abs=1e-6, nan_ok=True
                    )


def test_words_that_are_left_out_are_not_in_the_table():
    model = small_model(words=60, dim=8, seed=3)
    resources = embedded(model, Limits(10**9, words=25))
    names = parsed(resources["header.bin"])["words"]
    listed = [names[place] for place in parsed(resources["changed.bin"])["columns"]["word"]]
    assert listed == [word for word in changed(model, top=60).columns["word"] if word in names]


@pytest.mark.parametrize("kind", ["smoother", "filter", "point"])
def test_changed_words_are_compared_as_their_stories_tell(kind):
    resources = embedded(moving_model(kind))
    table, stories = parsed(resources["changed.bin"])["columns"], parsed(resources["stories.bin"])
    assert len(table["word"]) >= 8
    assert len(set(table["since"])) > 1
    assert (True in table["significant"]) == (kind != "point")
    for row, place in enumerate(table["word"]):
        for name in ("since", "until", "change", "low", "high"):
            assert table[name][row] == stories[place][name]
        assert table["significant"][row] == ((stories[place]["low"] or 0.0) > 0.0)
        for name in ("halfway_from", "halfway_to"):
            assert table[name][row] == (stories[place][name] if table["significant"][row] else None)


def test_where_no_word_surely_changed_a_note_says_so_and_frequent_words_are_listed():
    still = np.random.default_rng(0).standard_normal((20, 1, 4))
    means = still + 0.01 * np.random.default_rng(1).standard_normal((20, 5, 4))
    model = planted("smoother", means, 5.0, times=1900.0 + np.arange(5.0), values=np.full(100, 30))
    resources = embedded(model)
    table = parsed(resources["changed.bin"])
    assert table["notes"] == changed(model, top=20).notes
    assert table["notes"][-1].startswith("Nothing is significant")
    assert set(table["columns"]["significant"]) == {False}
    evidence = table["columns"]["log_bayes_factor"]
    assert evidence == sorted(evidence, reverse=True)
    assert min(table["columns"]["occurrences"]) >= parsed(resources["header.bin"])["known"]["often"]
    assert set(parsed(resources["cards.bin"])) <= set(table["columns"]["word"])
    assert all(told["low"] == 0.0 for told in parsed(resources["stories.bin"]))


@each_kind
def test_the_header_says_who_is_well_known_and_what_is_near(kind):
    header, model = header_of(kind), shared_model(kind)
    most = 0.2 * math.sqrt(2.0) if model.contexts == "tied" else 0.2
    assert header["known"] == {"noise": round(most, 6), "often": 50}  # pages have six digits
    assert header["slices_nearby"] == 1
    settled = whole_block(kind).settled.reshape(len(header["words"]), -1)
    for place, word in enumerate(header["words"]):
        for s, time in enumerate(model.times):
            mean, variance = sum_of(model, word, time)
            squared = float(mean @ mean)
            along = 0.0 if kind == "point" else math.sqrt(float(mean**2 @ variance))
            known = squared > 0 and (along <= most * squared or model.occurrences(word)[s] >= 50)
            assert settled[place, s] == known


@each_kind
def test_the_histogram_counts_the_turns_of_stories_and_as_many_under_the_prior(kind):
    bars = parsed(shared_page(kind)["changed.bin"])["histogram"]
    model, turned = shared_model(kind), []
    for word, told in zip(header_of(kind)["words"], parsed(shared_page(kind)["stories.bin"]), strict=True):
        inside = (model.times >= told["since"] - 1e-5) & (model.times <= told["until"] + 1e-5)
        if model.occurrences(word)[inside].sum() >= 20 and told["change"] is not None:
            turned.append(math.degrees(math.acos(1.0 - told["change"])))
    assert bars["observed"] == np.histogram(turned, bars["edges"])[0].tolist()
    assert len(bars["edges"]) == len(bars["observed"]) + 1
    if kind == "point":
        assert bars["expected"] is None
    else:
        assert sum(bars["expected"]) == pytest.approx(sum(bars["observed"]), rel=0.01)


def test_under_the_prior_alone_words_turn_as_simulated_trajectories_do():
    times = np.array([1900.0, 1903.0, 1910.0])
    model = planted(
        "smoother", np.random.default_rng(0).standard_normal((100, 3, 4)), 1.0, times=times, constant=0.05
    )
    bars = parsed(embedded(model)["changed.bin"])["histogram"]
    generator, diffusion = np.random.default_rng(5), model.diffusion
    place = np.sqrt(diffusion.marginal[0]) * generator.standard_normal((20_000, 4))
    start = place
    for t in range(2):
        place = diffusion.gain[t] * place + np.sqrt(diffusion.noise[t]) * generator.standard_normal(
            place.shape
        )
    cosine = (start * place).sum(axis=1) / np.sqrt((start**2).sum(axis=1) * (place**2).sum(axis=1))
    middle = np.average((np.array(bars["edges"][:-1]) + bars["edges"][1:]) / 2, weights=bars["expected"])
    assert middle == pytest.approx(np.degrees(np.arccos(cosine)).mean(), abs=1.0)


def test_cards_are_different_words_of_the_table():
    model = small_model(words=60, dim=8, seed=3)
    resources = embedded(model)
    cards, listed = parsed(resources["cards.bin"]), parsed(resources["changed.bin"])["columns"]["word"]
    assert len(cards) == len(set(cards)) == min(12, len(listed))
    assert cards[0] == listed[0]
    assert set(cards) <= set(listed)


def test_of_two_words_alike_a_card_is_given_to_one_and_to_a_third():
    path = np.linspace(0.0, 1.0, 5)[:, None]
    ends = np.eye(40, 12) * 3.0
    moving = [(1 - path) * ends[0] + path * ends[1], (1 - path) * ends[0] + path * (ends[1] + 0.01)]
    moving += [(1 - path) * ends[2 * n] + path * ends[2 * n + 1] for n in range(1, 6)]
    standing = [np.tile(ends[n % 12], (5, 1)) for n in range(20)]
    model = planted(
        "smoother",
        np.array([*moving, *standing]),
        500.0,
        times=1900.0 + np.arange(5.0),
        values=np.full(135, 30),
    )
    resources = embedded(model)
    words, cards = parsed(resources["header.bin"])["words"], parsed(resources["cards.bin"])
    first = [words[place] for place in cards[:6]]
    assert len({"w0", "w1"} & set(first)) == 1


@pytest.mark.parametrize("kind", ["smoother", "filter", "tied smoother"])
def test_words_that_divide_groups_are_the_librarys_with_the_vectors_of_each_group(kind):
    model = grouped_model(kind)
    data = page_data(model)
    resources = RemoteResources(data)
    assert {"divided.bin", "groups.bin"} <= set(resources.names())
    assert parsed(resources.resource("header.bin"))["groups"] == ["A", "B", "C"]
    found, told = parsed(resources.resource("divided.bin"))["columns"], divided(model, top=200)
    names = [model.words[data.kept.words[place]] for place in found["word"]]
    assert names == told.columns["word"] != []
    assert [("A", "B", "C")[group] for group in found["other"]] == told.columns["other"]
    for name in ("effect", "effect_low"):
        assert found[name] == pytest.approx(told.columns[name], abs=1e-6)
    slices, dim = len(model), model.dim
    rows = 3 * len(names) * slices
    differences, noise, settled = block_of(resources.resource("groups.bin"), rows, dim)
    block = Block(undone(differences, slices).astype(np.int8), noise, settled)
    shared = join_blocks(
        [block for _, block in word_blocks(data.vectors, model.times, np.arange(1), np.arange(slices))]
    )
    both = join_blocks([block, shared])
    place = next(place for place, name in enumerate(names) if name != model.words[0])
    for group, name in enumerate("ABC"):
        view, _ = in_group(model, name, names[place])
        answer = similarity(view, names[place], model.words[0])
        own = (group * len(names) + place) * slices + np.arange(slices)
        found, _ = page_similarity(both, own, rows + np.arange(slices))
        assert found == pytest.approx(answer.columns["similarity"], abs=0.03, nan_ok=True)


def test_a_model_without_groups_has_no_resources_on_them():
    resources = RemoteResources(page_data(small_model()))
    assert parsed(resources.resource("header.bin"))["groups"] == []
    assert not resources.has("divided.bin")
    assert not resources.has("groups.bin")


def grouped_model(kind):
    """A model whose first words three groups use differently."""
    generator = np.random.default_rng(1)
    words = np.arange(6)
    return small_model(
        kind,
        groups=Groups(
            names=("A", "B", "C"),
            words=words,
            mean=generator.standard_normal((3, 6, 6)).astype(np.float32),
            variance=np.full((3, 6, 6), 1e-3, dtype=np.float32),
            log_bayes_factor=np.where(np.arange(30) < 6, 20.0, -1.0),
            occurrences=generator.integers(5, 50, (3, 30)),
            first=np.full((3, 30), 1990.5),
        ),
    )


@each_kind
def test_occurrences_and_totals_are_the_models(kind):
    model, header = shared_model(kind), header_of(kind)
    table = np.frombuffer(opened(shared_page(kind)["occurrences.bin"]), "<u4").reshape(
        len(header["words"]), -1
    )
    for row, word in zip(table, header["words"], strict=True):
        assert_array_equal(row, model.occurrences(word))
    assert header["totals"] == table.sum(axis=1).tolist() == sorted(header["totals"], reverse=True)
    assert [one["tokens"] for one in header["all_slices"]] == table.sum(axis=0).tolist()


def test_thin_slices_keep_both_ends_and_the_number_and_prefer_the_rich():
    times = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 20.0, 21.0, 30.0])
    richness = np.array([1.0, 5.0, 9.0, 5.0, 1.0, 7.0, 1.0, 1.0, 8.0, 1.0])
    for number in range(2, 11):
        kept = thin_slices(times, richness, number)
        assert len(kept) == number
        assert (kept[0], kept[-1]) == (0, 9)
        assert (np.diff(kept) > 0).all()
    assert thin_slices(times, richness, 5).tolist() == [0, 2, 5, 8, 9]
    assert thin_slices(times, richness, 99).tolist() == list(range(10))


def test_thin_slices_fill_gaps_where_a_stretch_of_time_is_empty():
    times = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 100.0])
    assert thin_slices(times, np.ones(6), 4).tolist() == [0, 1, 4, 5]


def test_a_page_of_some_slices_tells_which_and_what_is_missing():
    model = shared_model("smoother")
    header = parsed(embedded(model, Limits(10**9, words=20, slices=4))["header.bin"])
    assert (header["left_out"]["words"], header["left_out"]["slices"]) == (10, 5)
    assert "5 slices" in header["left_out"]["why"]
    assert "10 least frequent words" in header["left_out"]["why"]
    assert len(header["all_slices"]) == 9
    assert header_of("smoother")["left_out"] == {"words": 0, "slices": 0, "why": None}


def test_differences_along_time_wrap_around_and_can_be_undone():
    directions = np.random.default_rng(0).integers(-127, 128, (12, 3)).astype(np.int8)
    assert_array_equal(undone(differences_along_time(directions, 4), 4), directions)


@each_kind
def test_remote_blocks_by_word_and_by_slice_hold_the_same_rows(kind):
    model = shared_model(kind)
    remote = RemoteResources(page_data(model), words_per_chunk=7)
    header = parsed(remote.resource("header.bin"))
    words, slices = len(header["words"]), len(header["slices"])
    sizes = [7] * (words // 7) + [words % 7] * (words % 7 > 0)
    by_word = [
        block_of(remote.resource(f"words/{n:04d}.bin"), size * slices, 6) for n, size in enumerate(sizes)
    ]
    directions, noise, settled = (np.concatenate([block[part] for block in by_word]) for part in range(3))
    for s in range(slices):
        block = block_of(remote.resource(f"slices/{s:04d}.bin"), words, 6)
        assert (
            np.abs(block[0].astype(int) - directions[s::slices]).max() <= 1
        )  # halves may be rounded either way
        assert_allclose(block[1].astype(float), noise[s::slices].astype(float), rtol=2e-3)
        assert_array_equal(block[2], settled[s::slices])


@each_kind
def test_resources_made_at_once_are_those_made_one_by_one(kind):
    data = page_data(shared_model(kind))
    single, together = (
        RemoteResources(data, words_per_chunk=11),
        RemoteResources(data, words_per_chunk=11, at_once=True),
    )
    for name in together.names():
        if name.startswith("nearest/"):
            continue  # lists one by one, or those of a chunk
        if name == "header.bin":
            assert {**parsed(together.resource(name)), "nearest": [1, 1]} == parsed(single.resource(name))
        elif name.startswith("slices/"):
            found, wanted = (block_of(one.resource(name), 30, 6) for one in (together, single))
            assert np.abs(found[0].astype(int) - wanted[0]).max() <= 1  # halves may be rounded either way
            assert_allclose(found[1].astype(float), wanted[1].astype(float), rtol=2e-3)
            assert_array_equal(found[2], wanted[2])
        else:
            assert opened(together.resource(name)) == opened(single.resource(name))


@pytest.mark.parametrize("most", [None, 25])
@each_kind
def test_lists_of_neighbors_are_the_librarys_in_the_same_order(kind, most):
    model = small_model(kind, words=80, slices=7)
    data = page_data(model)
    if most is not None:  # the library's lists, without words that the page lacks
        data = data.keeping(data.kept.most_frequent(most), "")
    places = {model.words[number]: place for place, number in enumerate(data.kept.words)}
    expected = []
    for word in places:
        for time in model.times:
            listed = neighbors(model, word, time, top=10 if most is None else 80).columns
            rows = [row for row, other in enumerate(listed["word"]) if other in places]
            if most is not None:  # faint words follow the others of a list, however near they are
                rows = sorted(sorted(rows, key=lambda row: -listed["similarity"][row])[:10])
            expected.append([places[listed["word"][row]] for row in rows])
    assert max(map(len, expected)) == 10
    assert lists_of(data.packed_nearest(), 7) == expected
    server, folder = RemoteResources(data), RemoteResources(data, words_per_chunk=11, at_once=True)
    lists, chunks = (
        [one.resource(name) for name in one.names() if name.startswith("nearest/")]
        for one in (server, folder)
    )
    assert [lists_of(packed, 1)[0] for packed in lists] == expected
    assert [listed for packed in chunks for listed in lists_of(packed, 7)] == expected


def test_remote_rows_have_a_scale_of_their_own():
    remote = RemoteResources(page_data(shared_model("smoother")))
    directions, _, settled = block_of(remote.resource("slices/0002.bin"), 30, 6)
    assert (np.abs(directions).max(axis=1)[settled > 0] == 127).all()


@each_kind
def test_remote_stories_are_those_of_the_single_file(kind):
    remote = RemoteResources(page_data(shared_model(kind)), words_per_chunk=11)
    chunks = [parsed(remote.resource(name)) for name in remote.names() if name.startswith("stories/")]
    assert [told for chunk in chunks for told in chunk] == parsed(shared_page(kind)["stories.bin"])


def test_every_name_listed_can_be_had_and_no_other():
    remote = RemoteResources(page_data(shared_model("smoother"), map_words=30), words_per_chunk=16)
    names = list(remote.names())
    assert len(set(names)) == len(names) == 5 + 9 + 2 + 2 + 30 * 9
    assert all(remote.has(name) for name in names)
    wrong = [
        "",
        "header",
        "slices/0009.bin",
        "slices/00001.bin",
        "slices/1.bin",
        "words/0002.bin",
        "words/-001.bin",
    ]
    wrong += [
        "../header.bin",
        "slices/../header.bin",
        "slices/٠٠٠١.bin",
        "header.bin\n",
        "HEADER.bin",
        "examples/0000.bin",
    ]
    for name in wrong:
        assert not remote.has(name)
        with pytest.raises(KeyError):
            remote.resource(name)


def test_a_map_has_a_place_within_bounds_for_each_word_and_frame():
    resources = embedded(small_model(words=20, slices=3, seed=1), map_words=12)
    found = parsed(resources["map.bin"])
    assert parsed(resources["header.bin"])["map"] is True
    assert found["words"] == list(range(12))
    assert len(found["times"]) == len(found["shown"]) == 3
    for axis in (np.array(found["x"]), np.array(found["y"])):
        assert axis.shape == (3, 12)
        assert np.abs(axis).max() <= 1.0
    assert max(np.abs(found["x"]).max(), np.abs(found["y"]).max()) == 1.0


def test_too_few_words_have_no_map():
    resources = embedded(small_model(words=9), map_words=3000)
    assert "map.bin" not in resources
    assert parsed(resources["header.bin"])["map"] is False


@each_kind
def test_hostile_words_survive_as_they_are(kind):
    names = [*HOSTILE, *(f"w{n}" for n in range(12))]
    resources = embedded(small_model(kind, names=names, seed=2))
    assert sorted(parsed(resources["header.bin"])["words"]) == sorted(names)
    told = [one for one in parsed(resources["stories.bin"]) if one["sentence"].startswith("</script>")]
    assert len(told) == 1


def test_numbers_that_are_none_are_null_and_small_ones_keep_their_digits():
    content = {
        "nothing": [math.nan, math.inf],
        "small": 1.23456e-8,
        "year": 1790.0205479452,
        "count": np.int64(3),
    }
    assert parsed(packed_json(content)) == {
        "nothing": [None, None],
        "small": 1.235e-8,
        "year": 1790.020548,
        "count": 3,
    }


def test_packed_bytes_carry_no_date():
    assert gzipped([b"ab", b"c"])[4:8] == bytes(4)
    assert opened(gzipped([b"ab", b"c"])) == b"abc"


def test_kept_words_are_the_most_frequent():
    model = shared_model("smoother")
    kept = select_all(model).most_frequent(5)
    assert set(model.total_occurrences[kept.words]) == set(np.sort(model.total_occurrences)[-5:])
    assert PageSelection(kept.words, np.arange(3)).rows == 15


def test_the_page_lists_only_settings_that_had_an_effect():
    given = {"method": "smoothing", "rate": 0.7, "adam_steps": 5, "adam_full_steps": 6, "max_steps": None}
    listed = {}
    for solver, method in (("natural", "smoothing"), ("adam", "smoothing"), ("adam", "filtering")):
        model = small_model(settings={**given, "solver": solver, "method": method})
        about = parsed(embedded(model)["header.bin"])["about"]
        listed[solver, method] = set(about["settings"]) & set(given)
        assert "Bamler, Robert and Mandt, Stephan" in about["bibtex"]
    assert listed["natural", "smoothing"] == {"method", "rate"}
    assert listed["adam", "smoothing"] == {"method", "adam_full_steps"}
    assert listed["adam", "filtering"] == {"method", "adam_steps"}
