"""How good a model is: predictions of slices it has not seen, and worlds whose truth is known."""
