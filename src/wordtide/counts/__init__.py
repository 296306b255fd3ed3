"""From documents to the sufficient statistics of the model."""
