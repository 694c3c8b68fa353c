"""Small hospitals for whole runs."""

from support.few import few

__all__ = ["few"]
