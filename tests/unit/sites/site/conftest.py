"""Threads that are put back."""

from support.threads import nobody_says, threads_restored

__all__ = ["nobody_says", "threads_restored"]
