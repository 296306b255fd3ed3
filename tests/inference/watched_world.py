"""A model of three days, and posts of the days after: topics that words belong to, and one word that jumps to another."""

import json
import shutil

import numpy as np

import wordtide

TOPICS = [[f"{stem}{ending}" for ending in ("", "er", "ing", "ly", "s", "est")] for stem in ("river", "mill", "road", "king")]
WORDS = [word for topic in TOPICS for word in topic]
JUMPER, JUMP = "mills", 5
FIT = {"method": "filtering", "dim": 4, "threads": 1, "prior_variance": 2.0, "diffusion": 300.0}


def rows(day, number=60):
    """Posts of a day of January 2020 as (date, text), in order of time."""
    generator = np.random.default_rng(day)
    found = []
    for n in range(number):
        topic = TOPICS[generator.integers(len(TOPICS))]
        words = generator.choice(topic, 8).tolist()
        if day >= JUMP and topic is TOPICS[3]:
            words[2:4] = [JUMPER, words[3]]
        elif day >= JUMP:
            words = [word for word in words if word != JUMPER]
        minute = n * 24 * 60 // number
        found.append((f"2020-01-{day:02}T{minute // 60:02}:{minute % 60:02}:00", " ".join(words)))
    return found


def lines(posts):
    """Posts as JSON Lines."""
    return "".join(json.dumps({"date": date, "text": text}) + "\n" for date, text in posts)


def make_model(place):
    """The model of the first three days."""
    (place / "words.txt").write_text("\n".join(WORDS) + "\n")
    texts = [post for day in (1, 2, 3) for post in rows(day)]
    counts = wordtide.count(texts, every="day", vocabulary=str(place / "words.txt"), workers=1)
    wordtide.fit(counts, output=place / "model", **FIT)
    return place / "model"


def copy_of(model, place):
    """A model to change."""
    return shutil.copytree(model, place / "model")


def content(model):
    """All that a model folder says, but for how long the fit took and which inode a file has."""
    files = {path.name: path.read_bytes() for path in model.iterdir() if path.name not in ("header.json", "curve.csv")}
    header = json.loads((model / "header.json").read_text())
    del header["files"]["curve.csv"]
    header.get("stream", {}).get("position", {}).pop("inode", None)
    return files, header
