"""Folders, files, arrays and locks. Everything is written whole or not at all."""
