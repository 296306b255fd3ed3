"""Text in: readers, dates, tokens."""
