"""A model of three days, and posts of the next days: topics with words, and one word that jumps.

Words are unequally frequent, and a post has some words of other topics. There are enough words to say what is
usual in a day. None is as frequent as *the* is in text, of which docs/mathematics.md says that it may surprise
without a reason.
"""

import json
import shutil

import numpy as np

import wordtide

STEMS = ("river", "mill", "road", "king", "corn", "ship", "law", "bell")
ENDINGS = ("", "s", "er", "ing", "ly", "est", "ed", "less", "ful", "ward", "man", "ish")
TOPICS = [[f"{stem}{ending}" for ending in ENDINGS] for stem in STEMS]
WORDS = [word for topic in TOPICS for word in topic]
JUMPER, JUMP = "mills", 5
LENGTH = 20  # of a post, in words
STRAY = 0.15  # share of its words that are of any topic
FIT = {"method": "filtering", "dim": 8, "threads": 1, "diffusion": 300.0}


def rows(day, number=60, jump=JUMP):
    """Posts of a day of January 2020 as (date, text); on the day `jump` a word goes from mills to kings."""
    generator = np.random.default_rng(day)
    zipf = 1.0 / np.arange(1.0, len(ENDINGS) + 1.0)
    zipf /= zipf.sum()
    found = []
    for n, topic in enumerate(generator.permutation(np.arange(number) % len(TOPICS))):
        own = generator.choice(TOPICS[topic], LENGTH, p=zipf)
        stray = generator.choice(WORDS, LENGTH, p=np.tile(zipf, len(TOPICS)) / len(TOPICS))
        words = np.where(generator.random(LENGTH) < STRAY, stray, own).tolist()
        if day >= jump and STEMS[topic] == "mill":
            words = [word for word in words if word != JUMPER]
        if day >= jump and STEMS[topic] == "king":
            words = [JUMPER if generator.random() < 0.15 else word for word in words]
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
    files = {
        path.name: path.read_bytes()
        for path in model.iterdir()
        if path.name not in ("header.json", "curve.csv")
    }
    header = json.loads((model / "header.json").read_text())
    del header["files"]["curve.csv"]
    header.get("stream", {}).get("position", {}).pop("inode", None)
    return files, header
