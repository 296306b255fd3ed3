"""The mathematics of the paper and of verdicts, as functions on arrays: no files, no commands."""
