"""`wordtide tune`: compare settings by how well they predict held-out slices."""
