"""Dated texts of two topics, in which one word changes its topic, for the examples of the pages."""

import random

#: Words that commands of the pages name. The first one changes.
NAMED = ["energy", "vigor", "power", "conservation", "want"]


def dated_texts(topic_size=60):
    """From 1850 to 2000, every ten years; each topic has so many words of its own."""
    draw = random.Random(0)
    topics = [[f"{topic}{n}" for n in range(topic_size)] for topic in ("farm", "mill")]
    for year in range(1850, 2001, 10):
        for n in range(60):
            named = NAMED[0] if n % 2 == (year > 1925) else draw.choice(NAMED[1:])
            topic = topics[n % 2]
            yield str(year), " ".join([*draw.choices(topic, k=6), named, *draw.choices(topic, k=6)])
