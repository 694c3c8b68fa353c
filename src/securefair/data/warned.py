"""Filters of warnings, which belong to the process: one thread at a time changes them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Literal

_ONE_AT_A_TIME = Lock()
"""Of two threads one would put back the other's filters."""


@contextmanager
def filtered(action: Literal["ignore", "error"], category: type[Warning]) -> Iterator[None]:
    """Ignore warnings of a kind within, or raise them. Not to be entered twice by one thread."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter(action, category)
        yield
