"""Questions to a model: what is near a word, what changed, when, and how sure that is.

One definition of similarity for all.
"""
