"""Updates give the bits of a fit of all slices; an admitted word has the prior as its past."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import wordtide
from wordtide.embeddings import folder as model_folder
from wordtide.embeddings.folder import read_model
from wordtide.errors import FolderError, InputError, OutputError, SettingsError
from wordtide.storage.locks import changing
from wordtide.streaming.additions import count_for_update
from wordtide.streaming.settings import GrowthSettings
from wordtide.streaming.update import update_in_memory, update_model

STEMS = ("river", "mill", "road", "king", "law", "steam", "gold", "war")
WORDS = [stem + ending for stem in STEMS for ending in ("", "er", "ing", "ly", "s")]
NEW = ["radio", "cinema"]
YEARS = (1900, 1903, 1904, 1911, 1912, 1915)
NATURAL = {"method": "filtering", "dim": 5, "threads": 1, "negative_contexts": 8}
WAYS = {
    "natural": NATURAL,
    "natural, tied": {**NATURAL, "contexts": "tied"},
    "natural, separate": {**NATURAL, "contexts": "separate"},
    "adam": {**NATURAL, "solver": "adam", "adam_steps": 12},
    "natural, all contexts": {**NATURAL, "negative_contexts": 0},
}


def text(year, length=150):
    """Words whose frequencies differ from year to year, so that some words miss some slices."""
    generator = np.random.default_rng(year)
    frequencies = 1.0 / np.arange(1, len(WORDS) + 1) ** 1.3
    words = generator.choice(generator.permutation(WORDS), length, p=frequencies / frequencies.sum())
    later = generator.choice(NEW, 30, p=[0.7, 0.3]) if year > 1910 else []
    return " ".join(generator.permutation([*words, *later]))


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Counts of some years with a vocabulary in a given order."""
    place = tmp_path_factory.mktemp("vocabularies")

    def of(years, words=WORDS, **settings):
        file = place / "words.txt"
        file.write_text("\n".join(words) + "\n")
        return wordtide.count(
            [(str(year), text(year)) for year in years], vocabulary=str(file), workers=1, **settings
        )

    return of


@pytest.fixture(scope="module")
def fitted(counted, tmp_path_factory):
    """The folder of a fit of the first slices, made once and copied."""
    made = {}

    def of(place, slices, way="natural"):
        if (slices, way) not in made:
            made[slices, way] = tmp_path_factory.mktemp("fitted") / "model"
            wordtide.fit(counted(YEARS[:slices]), output=made[slices, way], **WAYS[way])
        return shutil.copytree(made[slices, way], place)

    return of


@pytest.fixture
def model(fitted, tmp_path):
    """A model of the first four slices."""
    return fitted(tmp_path / "model", 4)


def content(folder):
    """The content of a model folder without the seconds of the fit."""
    files = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("header.json", "curve.csv")
    }
    header = json.loads((folder / "header.json").read_text())
    del header["files"]["curve.csv"]
    curve = [{**row, "seconds": 0} for row in wordtide.load(folder, check=True).curve]
    return files, header, curve


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("slices", [1, 3, 5])
def test_an_updated_model_has_the_bits_of_a_fit_of_all_slices(fitted, counted, tmp_path, way, slices):
    whole, updated = fitted(tmp_path / "whole", 6, way), fitted(tmp_path / "part", slices, way)
    update_model(updated, counted(YEARS[slices:]), threads=1)
    assert content(updated) == content(whole)


def test_two_updates_equal_one(fitted, counted, tmp_path):
    whole, updated = fitted(tmp_path / "whole", 6), fitted(tmp_path / "part", 2)
    for years in (YEARS[2:3], YEARS[3:6]):
        update_model(updated, counted(years), threads=1)
    assert content(updated) == content(whole)


def test_updates_in_memory_and_on_disk_agree(fitted, counted, tmp_path):
    whole = wordtide.load(fitted(tmp_path / "whole", 6))
    model = wordtide.fit(counted(YEARS[:3]), **NATURAL)
    assert model.update(counted(YEARS[3:]), threads=1) is model
    model.save(tmp_path / "saved")
    assert content(tmp_path / "saved") == content(whole.path)


def test_a_model_in_one_file_becomes_a_folder_of_slices_with_the_same_bits(
    fitted, counted, tmp_path, monkeypatch
):
    old = read_model(fitted(tmp_path / "part", 4))
    with monkeypatch.context() as patched:
        patched.setattr(model_folder, "MOST_SLICES", 0)
        model_folder.write_model(tmp_path / "old", replace(old, pairs=None, filter=None, counting=None))
    assert sorted(path.name for path in (tmp_path / "old").glob("*.safetensors")) == ["arrays.safetensors"]
    update_model(tmp_path / "old", counted(YEARS[4:]), threads=1)
    whole = fitted(tmp_path / "whole", 6)
    slices = [
        {path.name: path.read_bytes() for path in place.glob("slice-*")}
        for place in (whole, tmp_path / "old")
    ]
    assert slices[0] == slices[1]
    assert np.isnan(wordtide.load(tmp_path / "old", check=True).elbo)  # how its slices weigh was not kept


def test_a_model_with_too_many_slices_for_files_stays_in_one_file(fitted, counted, tmp_path, monkeypatch):
    whole = wordtide.load(fitted(tmp_path / "whole", 6))
    for module in ("wordtide.embeddings.folder", "wordtide.streaming.update"):
        monkeypatch.setattr(f"{module}.MOST_SLICES", 5)
    part = fitted(tmp_path / "part", 4)
    update_model(part, counted(YEARS[4:]), threads=1)
    monkeypatch.undo()
    assert not list(part.glob("slice-*"))
    found = wordtide.load(part, check=True).fitted.posterior.arrays()
    for name, array in whole.fitted.posterior.arrays().items():
        assert np.array_equal(np.asarray(found[name]), np.asarray(array))


def test_a_reduced_rate_is_kept(fitted, counted, tmp_path):
    model = read_model(fitted(tmp_path / "part", 4))
    slow = replace(model, filter={"pace": 0.5, "precision": "float32"})
    updated = update_in_memory(slow, counted(YEARS[4:]), GrowthSettings(), 1)
    assert next(row["rate"] for row in updated.curve if row["slice"] == 4) == 0.5 * model.settings["rate"]
    assert updated.filter["pace"] == 0.5


@pytest.mark.parametrize(
    "filter", [{"pace": 0.0}, {"pace": "1"}, {"pace": 7.0}, {"precision": "float16"}], ids=str
)
def test_an_impossible_state_of_the_filter_is_rejected(fitted, counted, tmp_path, filter):
    damaged = replace(read_model(fitted(tmp_path / "part", 4)), filter=filter)
    with pytest.raises(FolderError, match="damaged"):
        update_in_memory(damaged, counted(YEARS[4:]), GrowthSettings(), 1)


def test_files_of_old_slices_are_hard_links(model, counted):
    before = {path.name: path.stat().st_ino for path in model.glob("slice-*")}
    update_model(model, counted(YEARS[4:]), threads=1)
    assert {name: (model / name).stat().st_ino for name in before} == before


def test_files_are_copied_where_hard_links_are_impossible(fitted, counted, tmp_path, monkeypatch):
    def refusing(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refusing)
    updated = fitted(tmp_path / "part", 4)
    update_model(updated, counted(YEARS[4:]), threads=1)
    assert content(updated) == content(fitted(tmp_path / "whole", 6))


def test_an_open_model_answers_as_before_the_update(model, counted):
    opened = wordtide.load(model)
    before = opened.mean("mill")
    update_model(model, counted(YEARS[4:]), threads=1)
    assert np.array_equal(opened.mean("mill"), before)
    assert len(wordtide.load(model)) == 6


def test_a_loaded_model_is_updated_in_its_folder(model, counted):
    opened = wordtide.load(model)
    opened.mean("mill")
    opened.partial_fit(counted(YEARS[4:]), threads=1)
    assert opened.mean("mill").shape == (6, 5)
    assert np.array_equal(wordtide.load(model).mean("mill"), opened.mean("mill"))


def test_texts_are_counted_like_those_of_the_model(fitted, counted, tmp_path):
    updated = wordtide.load(fitted(tmp_path / "part", 4))
    updated.update([(str(year), text(year)) for year in YEARS[4:]], threads=1)
    assert content(updated.path) == content(fitted(tmp_path / "whole", 6))


def test_word_order_and_unknown_words_change_nothing(fitted, counted, tmp_path):
    updated = fitted(tmp_path / "part", 4)
    report = update_model(updated, counted(YEARS[4:], [*NEW, *reversed(WORDS)]), threads=1)
    assert (report.unknown, report.admitted) == (2, [])
    assert report.unknown_share == pytest.approx(60 / 360)
    assert content(updated) == content(fitted(tmp_path / "whole", 6))


def test_an_admitted_word_equals_one_that_had_never_occurred(counted, tmp_path):
    old, new = [year for year in YEARS if year < 1910], [year for year in YEARS if year > 1910]
    wordtide.fit(counted(old, [*WORDS, *NEW]), output=tmp_path / "always", **NATURAL)
    update_model(tmp_path / "always", counted(new, [*WORDS, *NEW]), threads=1)
    wordtide.fit(counted(old), output=tmp_path / "grown", **NATURAL)
    report = update_model(
        tmp_path / "grown", counted(new, [*NEW, *WORDS]), growth=GrowthSettings(5, 2), threads=1
    )
    assert report.admitted == NEW
    always, grown = (wordtide.load(tmp_path / name, check=True) for name in ("always", "grown"))
    assert grown.words == always.words
    for one, other in zip(grown.fitted.posterior.slices, always.fitted.posterior.slices, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))
    assert np.array_equal(grown.occurrences("radio"), always.occurrences("radio"))
    assert np.array_equal(grown.variance("radio"), always.variance("radio"))


@pytest.mark.parametrize(
    ("grow", "least", "admitted"),
    [(0, 1, []), (1, 1, ["radio"]), (9, 1, NEW), (9, 30, ["radio"]), (9, 100, [])],
)
def test_the_most_frequent_new_words_are_admitted_if_frequent_enough(model, counted, grow, least, admitted):
    report = update_model(
        model, counted(YEARS[4:], [*WORDS, *NEW[::-1]]), growth=GrowthSettings(grow, least), threads=1
    )
    assert report.admitted == admitted
    assert list(wordtide.load(model).arrivals) == report.admitted


def test_a_word_arrives_at_the_first_slice_in_which_it_occurs(fitted, counted, tmp_path):
    part = fitted(tmp_path / "part", 1)
    update_model(part, counted(YEARS[1:], [*WORDS, *NEW]), growth=GrowthSettings(9, 1), threads=1)
    assert wordtide.load(part).arrivals == dict.fromkeys(NEW, "1911")


def test_a_model_with_admitted_words_can_be_updated_again(model, counted):
    update_model(model, counted(YEARS[4:5], [*WORDS, "radio"]), growth=GrowthSettings(1, 1), threads=1)
    update_model(model, counted(YEARS[5:], [*WORDS, *NEW]), growth=GrowthSettings(1, 1), threads=1)
    assert wordtide.load(model, check=True).arrivals == {"radio": "1912", "cinema": "1915"}


def test_the_record_of_the_stream_changes_with_the_slices(model, counted):
    update_model(model, counted(YEARS[4:5]), header_extra={"position": 17}, threads=1)
    assert read_model(model).stream == {"position": 17}
    update_model(model, counted(YEARS[5:]), threads=1)
    assert read_model(model).stream == {"position": 17}


@pytest.mark.parametrize("years", [YEARS[3:], YEARS[2:4], (1850,), (1911, 1950)])
def test_slices_that_are_not_later_are_rejected_with_both_dates(model, counted, years):
    with pytest.raises(SettingsError, match=f"{years[0]}.*1911"):
        update_model(model, counted(years), threads=1)


def test_later_texts_of_the_last_slice_are_refused(model, counted):
    counts = wordtide.count([("1911-12-30", text(1911))], every="year")
    with pytest.raises(SettingsError, match="The model already contains the slice 1911"):
        update_model(model, counts, threads=1)


@pytest.mark.parametrize("method", ["smoothing", "warm-start", "static"])
def test_other_methods_are_refused_with_the_remedy(counted, tmp_path, method):
    wordtide.fit(counted(YEARS[:3]), output=tmp_path / "model", method=method, dim=3, threads=1)
    with pytest.raises(SettingsError, match=rf"fitted by {method}.*\n.*method='filtering'"):
        update_model(tmp_path / "model", counted(YEARS[4:]), threads=1)


def test_counts_with_another_window_are_refused(model, counted):
    with pytest.raises(SettingsError, match="a window of 4, and the new counts have 2"):
        update_model(model, counted(YEARS[4:], window=2), threads=1)


def test_counts_with_gaps_closed_over_unknown_words_are_rejected(model, counted):
    with pytest.raises(SettingsError, match="close_gaps=True"):
        update_model(model, counted(YEARS[4:], [*WORDS, *NEW], close_gaps=True), threads=1)


def test_slices_without_a_known_pair_are_left_out_and_reported(model, counted):
    texts = [("1920", "nothing known here"), ("1921", text(1921)), ("1922", "mill")]
    report = update_model(model, wordtide.count(texts, workers=1), threads=1)
    assert (report.counts.labels, report.left_out) == (["1921"], ["1920", "1922"])
    assert wordtide.load(model).labels[-2:] == ["1911", "1921"]


def test_an_update_without_a_known_pair_is_rejected(model, counted):
    with pytest.raises(InputError, match="None of the new slices has a pair of the model's words"):
        update_model(model, wordtide.count([("1920", "nothing known here")]), threads=1)


@pytest.mark.parametrize("options", [{"grow": -1}, {"grow": 1.5}, {"grow": 1, "grow_min_count": 0}], ids=str)
def test_invalid_numbers_of_new_words_are_rejected(model, counted, options):
    with pytest.raises(SettingsError, match="out of range"):
        wordtide.load(model).update(counted(YEARS[4:]), **options)


def test_texts_are_rejected_if_the_model_does_not_record_its_counting(model):
    opened = wordtide.load(model)
    opened.path, opened.fitted = None, replace(opened.fitted, counting=None)
    with pytest.raises(SettingsError, match=r"how its texts were counted.*\n.*vocabulary="):
        opened.update([("1920", text(1920))])


def upper_case(text):
    return [[word.upper() for word in text.split()]]


def test_a_tokenizer_named_only_in_the_header_is_not_run(model):
    opened = wordtide.load(model)
    hostile = replace(opened.fitted, counting={**opened.fitted.counting, "tokenizer": "os:system"})
    with pytest.raises(
        SettingsError, match=r"os:system, which runs only on request.*\n.*tokenizer='os:system'"
    ):
        count_for_update(hostile, [("1920", "touch /tmp/owned")])


def test_the_tokenizer_of_the_model_splits_later_texts(tmp_path):
    texts = [(str(year), text(year)) for year in YEARS]
    model = wordtide.fit(wordtide.count(texts[:4], tokenizer=upper_case, workers=1), **NATURAL)
    with pytest.raises(SettingsError, match="runs only on request"):
        model.update(texts[4:])
    model.update(texts[4:], tokenizer=upper_case, threads=1)
    assert model.occurrences("MILL").sum() == sum(words.split().count("mill") for _, words in texts)


def test_another_tokenizer_than_that_of_the_model_is_rejected(model):
    with pytest.raises(SettingsError, match="the rule of wordtide, not by"):
        wordtide.load(model).update([("1920", text(1920))], tokenizer=upper_case)


def test_settings_for_texts_are_rejected_with_counts(model, counted):
    with pytest.raises(SettingsError, match="every= is for texts"):
        wordtide.load(model).update(counted(YEARS[4:]), every="day")


def test_a_model_that_another_process_is_changing_is_not_updated(model, counted):
    before = content(model)
    with changing(model), pytest.raises(OutputError, match="Another process is changing"):
        update_model(model, counted(YEARS[4:]), threads=1)
    assert content(model) == before


def test_the_lock_is_released_after_an_error(model, counted):
    with pytest.raises(SettingsError):
        update_model(model, counted(YEARS[:1]), threads=1)
    update_model(model, counted(YEARS[4:]), threads=1)
    assert len(wordtide.load(model)) == 6
