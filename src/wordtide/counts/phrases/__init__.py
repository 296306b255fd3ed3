"""Phrases: lists of them, the search for them in a corpus, and the streams in which they are joined."""
