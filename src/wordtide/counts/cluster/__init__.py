"""Counting on a Dask cluster: shards, tasks, and tree reduction."""
