"""Figures: results in, matplotlib figures out. No window, no global state; one look for all of them."""
