"""Later texts are counted with the group field of the model, and a watch refuses models with groups."""

import numpy as np
import pytest

import wordtide
from wordtide.errors import InputError, SettingsError
from wordtide.streaming.additions import count_for_update
from wordtide.streaming.update import read_filtered
from wordtide.streaming.watch import watch

TEXT = "Taxes fall and wages rise, and other taxes rise again"
EARLY = [("1990", TEXT, "R"), ("1991", TEXT, "D")]


@pytest.fixture
def model(tmp_path):
    counts = wordtide.count(EARLY, output=tmp_path / "counts", group_field="party")
    wordtide.fit(counts, output=tmp_path / "model", method="filtering", dim=3, threads=1)
    return tmp_path / "model"


def test_later_texts_are_counted_with_groups(model):
    counts = count_for_update(read_filtered(model), [("1992", TEXT, "R"), ("1992", TEXT, "I")])
    assert list(counts.groups) == ["I", "R"]
    with pytest.raises(InputError, match="is not a triple"):
        count_for_update(read_filtered(model), [("1992", TEXT)])


def rows_of_groups(first, last):
    """Texts of two groups, in which *bank* is near rivers or near money."""
    generator = np.random.default_rng([first, last])
    fillers = [f"filler{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    topics = {"R": ["river", "water", "boat"], "D": ["money", "loan", "coin"]}
    rows = []
    for year in range(first, last):
        for n in range(120):
            party = "RD"[n % 2]
            near, far = topics[party], topics["DR"[n % 2]]
            for word, words in (("bank", near), ("other", far)):
                text = generator.permutation([word, *words, *generator.choice(fillers, 4)])
                rows.append((str(year), " ".join(text), party))
    return rows


@pytest.mark.parametrize("contexts", ["tied", "separate"])
def test_an_update_gives_the_groups_of_a_fit_of_all_slices(tmp_path, contexts):
    rows = rows_of_groups(1990, 1996)
    whole = wordtide.count(rows, group_field="party")
    parts = [
        wordtide.count(
            [row for row in rows if (int(row[0]) < 1994) == early], group_field="party", vocabulary=saved
        )
        for early, saved in ((True, saved_words(tmp_path, whole)), (False, saved_words(tmp_path, whole)))
    ]
    options = {"method": "filtering", "dim": 4, "contexts": contexts}
    expected = wordtide.fit(whole, **options).fitted.groups
    in_memory = wordtide.fit(parts[0], **options).update(parts[1])
    saved = wordtide.fit(parts[0], output=tmp_path / "model", **options).update(parts[1])
    for found in (in_memory.fitted.groups, saved.fitted.groups):
        assert found.names == expected.names == ("D", "R")
        for name in ("words", "mean", "variance", "log_bayes_factor", "occurrences"):
            assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name
    assert "bank" in [saved.words[word] for word in expected.words]


def saved_words(folder, counts):
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in counts.words))
    return str(folder / "words.txt")


def test_an_update_may_add_words_and_groups(tmp_path):
    rows = rows_of_groups(1990, 1993)
    model = wordtide.fit(wordtide.count(rows, group_field="party"), method="filtering", dim=4)
    before = model.fitted.groups
    later = [("1993", "bank river novel water", "I")] * 60 + rows_of_groups(1993, 1994)
    model.update(later, grow=5, grow_min_count=20)
    after = model.fitted.groups
    assert after.names == ("D", "I", "R")
    assert "novel" in model.words
    novel, bank = model.index["novel"], model.index["bank"]
    assert after.occurrences[:, novel].tolist() == [0, 60, 0]
    assert (after.occurrences[[0, 2], bank] > before.occurrences[:, bank]).all()
    assert after.mean.shape[0] == 3


def test_counts_without_groups_do_not_change_the_comparison(tmp_path):
    rows = rows_of_groups(1990, 1993)
    counts = wordtide.count(rows, group_field="party")
    model = wordtide.fit(counts, method="filtering", dim=4)
    before = model.fitted.groups
    texts = [row[:2] for row in rows_of_groups(1993, 1994)]
    model.update(wordtide.count(texts, vocabulary=saved_words(tmp_path, counts)))
    assert np.array_equal(model.fitted.groups.mean, before.mean)
    assert model.fitted.groups.words.tolist() == before.words.tolist()


def test_a_watch_refuses_models_with_groups(model, tmp_path):
    (tmp_path / "rows.jsonl").write_text("")
    with pytest.raises(SettingsError, match="The model has groups"):
        watch(model, tmp_path / "rows.jsonl")
