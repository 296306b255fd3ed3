"""Tuning the window: texts are counted again, with the same words and slices but other pairs."""

import json

import numpy as np
import pytest
from evaluation.corpora import LAW, STEAM

import wordtide
from wordtide.counts.count_arrays import ARRAYS
from wordtide.errors import InputError, SettingsError
from wordtide.evaluation.tuning.tune import tune
from wordtide.evaluation.tuning.windows import OtherWindows, check_windows, counts_by_window

OPTIONS = {"dim": 2, "diffusion": 1e-3, "splits": 1, "threads": 1, "max_steps": 2}


def texts(slices=5):
    return [(str(1900 + 10 * k), STEAM * (slices - k) + LAW * (k + 1)) for k in range(slices)]


def files(folder, last="more steam"):
    """The texts as files, named by their dates."""
    folder.mkdir()
    for date, text in texts():
        (folder / f"{date}.txt").write_text(text + last * (date == "1940"))
    return folder


def shouted(text):
    """A tokeniser."""
    return text.upper().split()


def deaf(message):
    """Hears nothing."""


@pytest.fixture
def counts():
    return wordtide.count(texts(), vocabulary_size=12)


def counted_again(folder, counts, window, source, **options):
    others = check_windows(counts, [window], OtherWindows({}, source, workers=1, **options), None)
    return counts_by_window(folder, counts, [window], others, deaf)[window]


def arrays_of(counts):
    return [np.asarray(getattr(counts.arrays, name)).tolist() for name in ARRAYS]


@pytest.mark.parametrize(
    "settings",
    [
        {"vocabulary_size": 12},
        {"vocabulary_by": "share", "vocabulary_size": 9, "min_count": 2},
        {"since": "1910", "every": "20-years", "close_gaps": True},
        {"pretokenized": True},
        {"every": "document", "hyphens": "split"},
    ],
)
def test_counted_again_with_another_window_is_what_counting_with_that_window_gives(tmp_path, settings):
    first, second = (wordtide.count(texts(), window=window, **settings) for window in (4, 2))
    assert arrays_of(counted_again(tmp_path, first, 2, texts())) == arrays_of(second)


def test_a_custom_tokenizer_is_used_again(tmp_path):
    first, second = (wordtide.count(texts(), window=window, tokenizer=shouted) for window in (4, 2))
    assert arrays_of(counted_again(tmp_path, first, 2, texts(), tokenizer=shouted)) == arrays_of(second)


def test_texts_of_an_iterator_serve_several_windows(tmp_path, counts):
    others = check_windows(counts, [2, 3], OtherWindows({}, iter(texts()), workers=1), None)
    assert [one.window for one in counts_by_window(tmp_path, counts, [2, 3], others, deaf).values()] == [2, 3]


def test_windows_are_scored_on_the_pairs_of_the_counts(tmp_path, counts):
    found = tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=texts(), **OPTIONS)
    by_window = {row["window"]: (row["slice"], row["pairs"]) for row in found.scores}
    assert by_window[2] == by_window[4]


def test_another_window_gives_another_model(tmp_path, counts):
    found = tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=texts(), **OPTIONS)
    assert found.summary[0]["mean"] != found.summary[1]["mean"]


def test_counts_can_be_given_in_place_of_texts(tmp_path, counts):
    other = wordtide.count(texts(), vocabulary_size=12, window=2)
    given = tune(counts, tmp_path / "given", grid={"window": [2, 4]}, windows={2: other}, **OPTIONS)
    counted = tune(counts, tmp_path / "counted", grid={"window": [2, 4]}, texts=texts(), **OPTIONS)
    assert given.scores == counted.scores


def test_counts_of_a_window_are_kept_so_that_texts_are_not_needed_again(tmp_path, counts):
    first = tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=texts(), **OPTIONS)
    again = tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, **{**OPTIONS, "splits": 2})
    assert again.scores[0] == first.scores[0]


def test_other_counts_than_those_kept_are_refused(tmp_path, counts):
    tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=texts(), **OPTIONS)
    other = wordtide.count(texts(), vocabulary_size=12, window=2, close_gaps=True)
    with pytest.raises(SettingsError, match="holds other counts than those given for window 2"):
        tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, windows={2: other}, **OPTIONS)


def test_the_window_of_the_counts_needs_no_texts(tmp_path, counts):
    assert len(tune(counts, tmp_path / "tuning", grid={"window": [4]}, **OPTIONS).summary) == 1


def test_files_are_counted_again(tmp_path):
    folder = files(tmp_path / "texts")
    counts = wordtide.count(folder, output=tmp_path / "counts", every="document")
    found = tune(
        tmp_path / "counts", tmp_path / "tuning", grid={"window": [2, 4]}, texts=str(folder), **OPTIONS
    )
    assert found.counts[2].labels == counts.labels


def test_examples_are_not_kept_twice(tmp_path):
    folder = files(tmp_path / "texts")
    wordtide.count(folder, output=tmp_path / "counts", examples=2)
    found = tune(
        tmp_path / "counts", tmp_path / "tuning", grid={"window": [2, 4]}, texts=str(folder), **OPTIONS
    )
    header = json.loads((found.path / "counts-2" / "header.json").read_text())
    assert header["settings"]["examples"] == 0


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ([*texts(), ("1960", LAW)], "have 6 slices, among them '1960'; the counts have 5"),
        (texts()[:-1], "have 4 slices; the counts have 5"),
        ([*texts(), ("1910", LAW)], "differ from those of the counts in slice 1910"),
    ],
)
def test_other_texts_are_refused_and_nothing_is_left(tmp_path, counts, others, problem):
    with pytest.raises(InputError, match=problem):
        tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=others, **OPTIONS)
    assert list(tmp_path.iterdir()) == []


def test_other_texts_do_not_damage_an_existing_tuning(tmp_path, counts):
    tune(counts, tmp_path / "tuning", grid={"window": [4]}, **OPTIONS)
    with pytest.raises(InputError, match="differ from those of the counts"):
        tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=[*texts(), ("1910", LAW)], **OPTIONS)
    assert (
        len(tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=texts(), **OPTIONS).summary) == 2
    )


def test_given_counts_of_other_texts_are_refused(tmp_path, counts):
    other = wordtide.count(texts(), window=2, vocabulary_size=11)
    with pytest.raises(InputError, match="counts given for window 2 have another vocabulary"):
        tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, windows={2: other}, **OPTIONS)


def test_given_counts_of_another_window_are_refused(tmp_path, counts):
    with pytest.raises(SettingsError, match="counts given for window 2 have window 4"):
        tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, windows={2: counts}, **OPTIONS)


def test_the_tokeniser_named_in_a_folder_does_not_run_unless_it_is_asked_for(tmp_path):
    counts = wordtide.count(texts(), tokenizer=shouted)
    with pytest.raises(
        SettingsError, match=r"made with the tokenizer '.*shouted', so the texts need it again"
    ):
        tune(counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=texts(), **OPTIONS)


@pytest.mark.parametrize(
    ("source", "tokenizer", "problem"),
    [
        ("-", None, "texts= cannot be standard input"),
        (["-"], None, "texts= cannot be standard input"),
        (texts(), shouted, "The counts were made without a tokenizer="),
        (12, None, "A int is not a source of texts"),
    ],
)
def test_unreadable_texts_are_refused(tmp_path, counts, source, tokenizer, problem):
    with pytest.raises(SettingsError, match=problem):
        tune(
            counts, tmp_path / "tuning", grid={"window": [2, 4]}, texts=source, tokenizer=tokenizer, **OPTIONS
        )
    assert list(tmp_path.iterdir()) == []
