"""Counting Google Books n-gram tables."""
