"""From text to word numbers: the token rule, its compiled scanners, and the lexicon."""
