"""Questions to a model: what is near a word, what changed, and when, with credible intervals.

One definition of similarity for all.
"""
