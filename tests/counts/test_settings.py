"""Values that Python callers may give in place of strings."""

import wordtide

TEXTS = [("1850", "Steam power. Steam engines."), ("1950", "Atomic power.")]


def test_a_vocabulary_may_be_a_path(tmp_path):
    (tmp_path / "words.txt").write_text("power\nsteam\n")
    counts = wordtide.count(TEXTS, vocabulary=tmp_path / "words.txt", output=tmp_path / "counts", workers=1)
    assert (counts.words, counts.settings.vocabulary) == (["power", "steam"], str(tmp_path / "words.txt"))


def test_a_year_may_be_a_number():
    counts = wordtide.count(TEXTS, since=1900, until=1999, workers=1)
    assert (counts.labels, counts.settings.since) == (["1950"], "1900")
