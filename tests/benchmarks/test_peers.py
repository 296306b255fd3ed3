"""The gensim peers of benchmarks/peers on a tiny world: our tokens, rows by word, a chain without gaps, a
frozen layer.
"""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.model import negative_matrix
from simulation import Cast, score_model, template_world

import wordtide
from wordtide.evaluation.scores import log_likelihood_per_pair
from wordtide.inference.problem import problem_of

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
MODULES = ("gensim_peers", "likelihoods", "point_models", "sentence_files", "slice_texts", "slice_vectors")
NAMES = ["per-slice", "chained", "compass"]


@pytest.fixture(scope="module")
def peers():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PEERS))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})


@pytest.fixture(scope="module")
def world():
    return template_world(
        seed=1, tokens=4_000, vocabulary=150, slices=3, topics=3, cast=Cast(1, 1, 0, 0, 1, 0, 0, 2)
    )


@pytest.fixture(scope="module")
def counts(world):
    return wordtide.count(world.documents, close_gaps=True, vocabulary_size=120, workers=1)


@pytest.fixture(scope="module")
def slices(peers, world, counts):
    return peers.slice_texts.sentences_by_slice(world.documents, counts)


@pytest.fixture(scope="module")
def training(peers):
    return peers.gensim_peers.Training(dim=8, epochs=3)


@pytest.fixture(scope="module")
def found(peers, counts, slices, training):
    return {name: peers.gensim_peers.PEERS[name](slices, counts.words, training) for name in NAMES}


def test_peers_read_exactly_the_words_that_were_counted(counts, slices):
    number = {word: n for n, word in enumerate(counts.words)}
    for t, sentences in enumerate(slices):
        read = np.bincount(
            [number[word] for sentence in sentences for word in sentence], minlength=len(number)
        )
        assert np.array_equal(read, counts.unigrams(t))


def test_pairs_within_the_sentences_of_peers_are_those_that_were_counted(counts, slices):
    """The window rule in a slow loop: a pair with k words between weighs 1 - k / 4, in both directions."""
    number = {word: n for n, word in enumerate(counts.words)}
    for sentences, counted in zip(slices, counts, strict=True):
        pairs = np.zeros(counted.shape)
        for sentence in sentences:
            for place, word in enumerate(sentence):
                for between, other in enumerate(sentence[place + 1 : place + 5]):
                    pairs[number[word], number[other]] += 1 - between / 4
                    pairs[number[other], number[word]] += 1 - between / 4
        np.testing.assert_allclose(counted.toarray(), pairs)


def test_counts_that_keep_gaps_are_refused_because_peers_close_them(peers, world):
    with pytest.raises(ValueError, match="close_gaps"):
        peers.slice_texts.sentences_by_slice(world.documents, wordtide.count(world.documents, workers=1))


def test_sentences_come_back_from_their_file(peers, slices, tmp_path):
    peers.sentence_files.write_sentences(tmp_path / "sentences.txt", slices)
    assert peers.sentence_files.read_sentences(tmp_path / "sentences.txt") == slices


def test_vectors_come_back_from_their_archive(peers, found, tmp_path):
    peers.slice_vectors.save_slices(tmp_path / "vectors.npz", found["chained"])
    loaded = peers.slice_vectors.load_slices(tmp_path / "vectors.npz")
    assert all(np.array_equal(one.u, other.u) for one, other in zip(loaded, found["chained"], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_word_of_a_slice_has_a_vector_and_no_other_has(found, counts, name):
    for t, part in enumerate(found[name]):
        assert sorted(part.words) == np.flatnonzero(counts.unigrams(t)).tolist()


def test_words_of_two_slices_stand_in_different_orders_so_that_rows_must_be_matched(found):
    first, second = (
        part.words[np.isin(part.words, other.words)]
        for part, other in (found["chained"][:2], found["chained"][1::-1])
    )
    assert sorted(first) == sorted(second)
    assert not np.array_equal(first, second)


def test_alignment_undoes_a_rotation_and_a_shuffle_of_rows(peers):
    rng = np.random.default_rng(0)
    vectors = peers.slice_vectors.SliceVectors
    before = vectors(rng.permutation(30), rng.standard_normal((30, 4)), rng.standard_normal((30, 4)))
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    order = rng.permutation(30)[:25]  # five words are gone, the others stand in another order
    turned = vectors(before.words[order], before.u[order] @ rotation, before.v[order] @ rotation)
    back = peers.gensim_peers.turned_onto(before, turned)
    np.testing.assert_allclose(back.u, before.u[order], atol=1e-12)
    np.testing.assert_allclose(back.v, before.v[order], atol=1e-12)


def test_a_chained_slice_starts_where_each_of_its_words_was_left(peers, counts, slices, training, found):
    model = peers.gensim_peers.untrained(slices[2], training)
    numbers = peers.gensim_peers.Vocabulary(counts.words).numbers_in(model)
    fresh = model.wv.vectors.copy()
    left = {}
    for part in found["chained"][:2]:
        left |= {int(word): (u, v) for word, u, v in zip(part.words, part.u, part.v, strict=True)}
    latest, seen = (
        np.zeros((2, len(counts.words), training.dim), dtype=np.float32),
        np.zeros(len(counts.words), dtype=bool),
    )
    for word, both in left.items():
        latest[:, word], seen[word] = both, True
    peers.gensim_peers.begin_where_left(model, numbers, latest, seen)
    for row, word in enumerate(numbers.tolist()):
        start = left[word] if word in left else (fresh[row], np.zeros(training.dim))
        assert np.array_equal(model.wv.vectors[row], start[0])
        assert np.array_equal(model.syn1neg[row], start[1])


def test_without_training_a_chain_stays_where_it_was(peers, counts, slices, training, monkeypatch):
    monkeypatch.setattr(peers.gensim_peers, "train", lambda model, sentences: None)
    still = peers.gensim_peers.chained(slices, counts.words, training)
    first = dict(zip(still[0].words.tolist(), still[0].u, strict=True))
    for part in still[1:]:
        for word, u in zip(part.words.tolist(), part.u, strict=True):
            assert word not in first or np.array_equal(u, first[word])


def test_the_layer_that_the_compass_freezes_has_the_same_bits_in_all_slices(found, counts):
    frozen = {}
    for part in found["compass"]:
        for word, v in zip(part.words.tolist(), part.v, strict=True):
            assert np.array_equal(v, frozen.setdefault(word, v))
    assert len(frozen) == len(counts.words)


def test_the_frozen_layer_is_the_output_layer_of_the_model_of_all_slices(
    peers, found, counts, slices, training
):
    together = [sentence for sentences in slices for sentence in sentences]
    pooled = peers.gensim_peers.untrained(together, training)
    peers.gensim_peers.train(pooled, together)
    for part in found["compass"]:
        rows = [pooled.wv.key_to_index[counts.words[word]] for word in part.words]
        assert np.array_equal(part.v, pooled.syn1neg[rows])


def test_the_layer_that_the_compass_trains_does_move(found):
    first = dict(zip(found["compass"][0].words.tolist(), found["compass"][0].u, strict=True))
    last = found["compass"][-1]
    assert not any(
        np.array_equal(u, first[word])
        for word, u in zip(last.words.tolist(), last.u, strict=True)
        if word in first
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_peer_s_model_has_each_word_s_own_vectors(peers, found, counts, name):
    model = peers.point_models.model_of(counts, found[name], name)
    for t, part in enumerate(found[name]):
        vectors = dict(zip(part.words.tolist(), part.u, strict=True))
        for word in problem_of(counts).slices[t].words.tolist():
            np.testing.assert_array_equal(
                model.mean(counts.words[word], float(counts.times[t])), vectors[word]
            )


def test_a_peer_is_scored_like_a_model_of_ours(peers, found, counts, world):
    model = peers.point_models.model_of(counts, found["chained"], "chained")
    scores = {(row.kind, row.score): row.value for row in score_model(world, model, vectors="word")}
    assert 0.0 <= scores["planted", "auc"] <= 1.0


def test_a_peer_without_a_vector_for_a_word_is_refused(peers, found, counts):
    part = found["chained"][0]
    short = peers.slice_vectors.SliceVectors(part.words[1:], part.u[1:], part.v[1:])
    with pytest.raises(ValueError, match="has no vector for"):
        peers.point_models.model_of(counts, [short, *found["chained"][1:]], "chained")


def test_scores_against_five_noise_words_are_brought_to_those_against_one(peers, counts):
    """The optimum of skip-gram with k negatives is log(n+ / (k n-)); shifted it must be our optimum log(n+ /
    n-).
    """
    part = problem_of(counts).slices[0]
    positive, negative, one = (
        part.positive_matrix().toarray() + 0.01,
        negative_matrix(part),
        np.eye(len(part)),
    )
    best = log_likelihood_per_pair(part, np.log(positive / negative), one)
    theirs = np.log(positive / (5 * negative))
    assert log_likelihood_per_pair(part, theirs, one, peers.likelihoods.shift_of(5)) == pytest.approx(
        best, rel=1e-5
    )
    assert log_likelihood_per_pair(part, theirs, one) < best - 0.1


def test_the_best_constant_is_found(peers):
    constant, score = peers.likelihoods.best_shift(lambda shift: -((shift - 1.7) ** 2))
    assert constant == pytest.approx(1.7, abs=0.03)
    assert score == pytest.approx(0.0, abs=1e-3)
