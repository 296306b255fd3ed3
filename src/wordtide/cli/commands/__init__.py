"""One module per command, or per pair of related commands."""
