"""Hospitals of whole runs, and the program as a process of its own."""

from support.runs import hospitals, program

__all__ = ["hospitals", "program"]
