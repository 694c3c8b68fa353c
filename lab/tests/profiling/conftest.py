"""What all profiles begin with."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def nothing_to_collect() -> None:
    """Every measurement begins with a collection, which would look through all of the session."""
    gc.collect()
    gc.freeze()
