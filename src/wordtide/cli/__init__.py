"""The command line: thin. Parse, call one function, print."""
