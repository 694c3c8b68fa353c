"""The cheapest exchange there is, for all tests of both parties."""

import pytest

from support.parties import run, spec_of


@pytest.fixture(scope="module")
def linear():
    """The cheapest exchange there is."""
    return run(spec_of("public"))
