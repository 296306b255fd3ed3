"""The mathematics of the model as pure functions on tensors: likelihood, bidiagonal algebra."""
