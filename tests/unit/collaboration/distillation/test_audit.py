import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.collaboration.distillation.audit import ReleaseAudit
from securefair.exchange.opened import Opened
from support.agreements import agree
from support.simulated import start_run

pytestmark = pytest.mark.slow

RELEASES = [
    ("loss", "public"),
    ("class_sums", "public"),
    ("projection", "public"),
    ("projection", "student"),
    ("logits", "public"),
]


def first_round(hospitals, *, release="logits", basis="public", backend="clear"):
    """A run of one round without its own audit, and the teachers' models in it."""
    agreed = agree(
        "vpdl",
        hospitals,
        samples=max(len(own.train) for own in hospitals),
        kind="linear",
        local_epochs=3,
        release=release,
        basis=basis,
        q=4,
    )
    run = start_run(
        "vpdl",
        hospitals,
        agreed,
        seed=1,
        backend=backend,
        audit=False,
    )
    list(run.rounds(1))
    participants = run.hosts
    return run, {name: own.rounds[0].snapshot for name, own in participants.items()}


def audited(run, teachers):
    audit = ReleaseAudit(run.observer.collaboration)
    for own in run.hosts.values():
        audit.check(own, 0, teachers)
    return audit


def test_nothing_released_is_no_error(hospitals):
    run, _ = first_round(hospitals)
    audit = ReleaseAudit(run.observer.collaboration)
    assert (audit.max_abs_error, audit.value_range, audit.error_over_range) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("release", "basis"), RELEASES)
def test_a_clear_run_has_no_error(release, basis, hospitals):
    audit = audited(*first_round(hospitals, release=release, basis=basis))
    assert audit.max_abs_error == 0.0
    assert audit.value_range > 0.0


def test_an_encrypted_run_has_the_error_of_encryption(hospitals):
    run, teachers = first_round(hospitals, backend="rns")
    audit = audited(run, teachers)
    plan = plan_exchange(run.observer.collaboration.spec)
    assert 0.0 < audit.max_abs_error <= plan.error_bound + plan.grid / 2
    assert audit.error_over_range == audit.max_abs_error / audit.value_range


def test_the_range_is_that_of_the_clear_values(hospitals):
    run, teachers = first_round(hospitals)
    values = np.concatenate(
        [
            opened.released.ravel()
            for own in run.hosts.values()
            for opened in own.rounds[0].opened.values()
        ]
    )
    assert audited(run, teachers).value_range == pytest.approx(np.ptp(values))


@pytest.mark.parametrize(("release", "basis"), RELEASES)
def test_one_wrong_number_is_found(release, basis, hospitals):
    run, teachers = first_round(hospitals, release=release, basis=basis)
    opened = run.hosts["b"].rounds[0].opened
    wrong = np.array(opened["c"].released)
    wrong.flat[-1] -= 0.125
    opened["c"] = Opened(wrong, opened["c"].logits, opened["c"].unexplained)
    assert audited(run, teachers).max_abs_error == pytest.approx(0.125)


def test_another_model_than_the_teachers_is_found(hospitals):
    run, teachers = first_round(hospitals)
    swapped = teachers | {"a": teachers["b"]}
    assert audited(run, swapped).max_abs_error > 0.01
