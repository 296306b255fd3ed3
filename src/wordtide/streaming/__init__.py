"""Models that follow a stream of texts: updates with later slices, and watches of endless streams."""
