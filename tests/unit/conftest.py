"""Fixtures that the laboratory shares."""

from support.populations import hospitals, make_hospital

__all__ = ["hospitals", "make_hospital"]
