"""The default solver: natural gradients for smoothing, filtering, the static model and the baselines."""
