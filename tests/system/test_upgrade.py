"""Sites of the release before and of this one in one project. `make previous` sets that one up."""

import json
import os

import pytest

from securefair.sites.rehearsal.elsewhere import PREVIOUS
from support.operators import securefair


@pytest.mark.slow
@pytest.mark.skipif(not PREVIOUS.exists(), reason="no release before this one: `make previous`")
@pytest.mark.parametrize(
    ("algorithm", "rounds"),
    [
        pytest.param(
            *("transfer", 1),
            marks=pytest.mark.skipif(
                "SECUREFAIR_KILLS" not in os.environ,
                reason="projects of it that were left go on in test_running: `make soak` runs it",
            ),
        ),
        ("cycle-gossip", 2),
    ],
)
def test_sites_are_upgraded_one_by_one_while_the_others_go_on(algorithm, rounds):
    """All but the first begin with the release before; each that is killed comes back upgraded."""
    options = ("--sites", 3, "--rounds", rounds, "--kills", 2, "--faults", 0, "--json")
    found = json.loads(
        securefair("rehearse", "--algorithm", algorithm, "--beside", PREVIOUS, *options)
    )
    assert (found["lost_rounds"], found["refused"]) == (0, 0)
    assert found["decisions_equal"]
