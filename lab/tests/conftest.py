"""What tests of the laboratory share with those of the package, whose `support` they use."""

import pytest

from support import session
from support.populations import (
    make_images,
    make_momentum_networks,
    make_networks,
    make_participant,
    make_population,
)

__all__ = [
    "make_networks",
    "make_images",
    "make_momentum_networks",
    "make_participant",
    "make_population",
]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Threads stay as they were."""
    try:
        return (yield)
    finally:
        session.one_thread_again()
