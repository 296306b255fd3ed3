"""How well models predict slices that they have not seen: evaluation of methods, and tuning of settings."""
