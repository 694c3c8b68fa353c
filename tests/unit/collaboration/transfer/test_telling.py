"""What a report tells of a transfer is what was opened in it."""

import pytest

from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.telling import opens
from securefair.config import override, parse_config

CONFIG = parse_config('[run]\nname = "x"\n[data]\nsource = "heart"', source="test")
NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.mark.parametrize("people", [2, 3, 4, 6])
@pytest.mark.parametrize("peers", [2, 3, 4, 8])
@pytest.mark.parametrize("opened", ["auto", "each", "mean"])
def test_it_says_what_students_open(people, peers, opened):
    config = override(CONFIG, {"transfer.peers": peers, "transfer.opened": opened})
    agreed = TransferAgreement(
        participants=NAMES[:people],
        features=3,
        classes=2,
        patients=9,
        peers=peers,
        opened=None if opened == "auto" else opened,
    )
    assert opens(config, NAMES[:people]) == agreed.opens
