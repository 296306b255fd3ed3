"""Where the states of a smoothing fit live: in memory, on disk, or on several processes."""
