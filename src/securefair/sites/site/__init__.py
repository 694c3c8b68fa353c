"""One participant on a real clock over a store: its folder, start, rounds, status and results."""
