"""Models that follow a stream: update, watch, alerts."""
