"""Fuzz targets: each module has `SEEDS` and `try_input`."""
