"""Example sentences of words: drawn while counting, stored beside the counts, shown in context."""
