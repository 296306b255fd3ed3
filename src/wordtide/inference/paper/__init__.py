"""The paper's own algorithms (solver "adam"): Algorithms 1 and 2."""
