"""From counts to a posterior: filtering, smoothing, two solvers, the baselines."""
