"""Fixtures of transfers, which the laboratory shares."""

from support.transfers import agree, make_hospitals

__all__ = ["agree", "make_hospitals"]
