"""Folders, files, arrays and locks: everything that is written is written whole or not at all."""
