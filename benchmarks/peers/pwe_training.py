"""Train `probabilistic-word-embeddings` by its mean-field variational mode, in an environment of its own.

    python pwe_training.py FOLDER METHOD SETTINGS OUTPUT

As its documentation has it: words carry the slice in their name, a graph ties a word to itself in the next
slice, and all slices share one set of context vectors. Its windows do not end with a sentence and have no
decay, and its noise words come from all slices. Prints one line of JSON last, as training.py does.
"""

import contextlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import tensorflow as tf
from probabilistic_word_embeddings.embeddings import LaplacianEmbedding
from probabilistic_word_embeddings.estimation import mean_field_vi
from sentence_files import read_sentences
from slice_vectors import SliceVectors, save_slices
from training import peak_bytes


def train(folder: Path, settings: dict[str, Any]) -> tuple[list[SliceVectors], float, int]:
    """The vectors, the processor seconds, and the bytes held before training."""
    slices = read_sentences(folder / "sentences.txt")
    numbers = {
        word: n for n, word in enumerate(json.loads((folder / "words.json").read_text(encoding="utf-8")))
    }
    tokens = [
        f"{word}_{t}" for t, sentences in enumerate(slices) for sentence in sentences for word in sentence
    ]
    present = [sorted({numbers[word] for sentence in sentences for word in sentence}) for sentences in slices]
    names = list(numbers)
    for seeded in (random.seed, tf.random.set_seed):
        seeded(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    before = peak_bytes()
    start = time.process_time()
    embedding = LaplacianEmbedding(
        set(tokens),
        settings["dim"],
        _ties(present, names),
        lambda0=settings["lambda0"],
        lambda1=settings["lambda1"],
        seed=1,
    )
    batch = settings["batch_size"]
    mean, _ = mean_field_vi(
        embedding,
        tokens,
        model="sgns",
        ws=4,
        ns=5,
        batch_size=batch,
        epochs=settings["epochs"],
        evaluate=False,
        loglevel="ERROR",
    )
    seconds = time.process_time() - start
    theta = mean.theta.numpy().astype(np.float32)
    found = []
    for t, words in enumerate(present):
        u, v = ([mean.vocabulary[f"{names[n]}_{t}{side}"] for n in words] for side in ("", "_c"))
        found.append(SliceVectors(np.array(words), theta[u], theta[v]))
    return found, seconds, before


def _ties(present: list[list[int]], names: list[str]) -> nx.Graph:
    """A word of a slice tied to itself where it occurs next."""
    graph, latest = nx.Graph(), {}
    for t, words in enumerate(present):
        for n in words:
            if n in latest:
                graph.add_edge(f"{names[n]}_{latest[n]}", f"{names[n]}_{t}")
            latest[n] = t
    return graph


def main() -> None:
    folder, _, settings, output = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        found, seconds, before = train(Path(folder), json.loads(settings))
    save_slices(Path(output), found)
    print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "before": before}))


if __name__ == "__main__":
    main()
