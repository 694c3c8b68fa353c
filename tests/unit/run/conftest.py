"""Small hospitals for whole runs."""

from support.few import few, two

__all__ = ["few", "two"]
