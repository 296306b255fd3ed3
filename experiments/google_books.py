"""Real 5-grams of Google Books, English fiction, every fifth year from 1900 to 1995, with d = 200.

There are 100,000 n-grams in each of T = 20 years; d is that of the paper.
"""

from experiment import Experiment, main

GOOGLE_BOOKS = Experiment(
    name="google-books",
    title="Google Books, English fiction: a sample of 5-grams, 1900 to 1995",
    preset="paper-gbooks",
    settings={"default": {"dim": 200}},
    counting={"format": "ngrams", "vocabulary_by": "share"},
    holdout=0.25,
    pairs={"radio": ("television",), "car": ("horse", "drove"), "lord": ("god",)},
    labelled=("car", "horse", "radio", "telephone", "lord", "god", "war", "money", "love", "door", "eyes"),
)

if __name__ == "__main__":
    main(GOOGLE_BOOKS)
