"""The answer of every method: a posterior over trajectories."""
