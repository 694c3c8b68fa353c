"""Limits of disclosure are those of the configuration."""

from securefair.collaboration.disclosure import limits_of
from securefair.config import demo_config, override


def test_limits_of_the_ledger_come_from_the_configuration():
    changes = {"disclosure.fraction": 0.5, "disclosure.teacher_total": 900}
    limits = limits_of(override(demo_config(), changes))
    assert (limits.fraction, limits.student_total, limits.teacher_total) == (0.5, None, 900)
