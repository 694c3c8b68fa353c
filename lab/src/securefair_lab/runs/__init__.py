"""Finished runs: side by side, for a publication, and as they go on, for a logger."""
