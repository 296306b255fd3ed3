"""Models in the formats of other programs: word2vec, NumPy archives, Parquet, the Embedding Projector."""
