import math

import pytest

from securefair.errors import ConfigError
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.settings import MachineSettings
from securefair.releases import REGISTERED


def settings(*, release="logits", **changes) -> MachineSettings:
    disclosure = DisclosurePolicy(
        release=release, classes=2, rows=1, teacher_parameters=10, fraction_per_version=None
    )
    values = {
        "collaboration": bytes(32),
        "forced_every": 5,
        "always_share": False,
        "disclosure": disclosure,
        "round_seconds": 10.0,
    }
    return MachineSettings(**{**values, **changes})


def test_every_rth_round_is_forced_and_scored():
    assert [t for t in range(12) if settings().forced(t)] == [0, 5, 10]
    assert [t for t in range(12) if settings().scored(t)] == [0, 5, 10]
    assert all(settings(forced_every=1).forced(t) for t in range(5))


def test_vpdl_never_scores():
    assert not any(settings(always_share=True).scored(t) for t in range(12))


@pytest.mark.parametrize("release", list(REGISTERED))
def test_only_losses_class_sums_and_alignments_carry_something_of_the_students(release):
    assert settings(release=release, needs_keys=False).needs_question
    assert settings(release=release).needs_question == (
        release in ("loss", "class_sums", "alignment")
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("collaboration", bytes(31)),
        ("forced_every", 0),
        ("round_seconds", 0.0),
        ("round_seconds", math.inf),
        ("setup_seconds", -1.0),
        ("keep_rounds", -1),
    ],
)
def test_impossible_settings_are_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        settings(**{name: value})
