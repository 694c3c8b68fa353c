"""The lowest rungs of transfer: reference = clear."""

import numpy as np
import pytest

from securefair.circuit import plan_exchange
from securefair_lab.algorithms.releases import ProjectionRelease, Rounding
from securefair_lab.algorithms.transfer import Transfer, run_transfer
from support.simulated import start_transfer
from support.transfers import agree, make_hospitals

__all__ = ["agree", "make_hospitals"]

pytestmark = pytest.mark.slow  # whole runs

FITS = {1: "linear", 2: "quadratic"}


def rounded(agreement, student):
    """What rounding a teacher's forms moves a logit by, at most."""
    plan = plan_exchange(agreement.spec_for(len(student.train)))
    return plan.packing.rounding(plan.spec, plan.schedule) + 1e-6


def reference(agreement, hospitals, student):
    """Everything in the clear, as it comes out at one student: plans differ by how many it asks
    about."""
    plan = plan_exchange(agreement.spec_for(len(student.train)))
    release = ProjectionRelease(
        q=plan.spec.q, ring_degree=plan.ring_degree,
        public_seed=agreement.basis_seed,
        noise_std=plan.noise_std,
    )  # fmt: skip
    scales = tuple(spec.log2_scale for spec in plan.specs)
    settings = Transfer(
        degree=agreement.degree,
        release=release,
        opened=agreement.opens,
        peers=agreement.transfer.peers,
        rounding=Rounding(row_norm=1.0, log2_scales=scales),
    )
    return run_transfer(settings, hospitals, 3).transferred[student.name]


@pytest.mark.parametrize("opened", ["each", "mean"])
@pytest.mark.parametrize(("classes", "degree"), [(2, 1), (3, 1), (2, 2)])
def test_clear_is_the_reference(make_hospitals, agree, opened, classes, degree):
    hospitals = make_hospitals("abcd" if classes == 2 else "abc", classes=classes)
    agreed = agree(hospitals, opened=opened, fit=FITS[degree])
    run = start_transfer("transfer", hospitals, agreed, seed=3, backend="clear")
    (record,) = run.rounds(5)
    x = hospitals[0].test.features
    for own in hospitals:
        expected = reference(agreed, hospitals, own)
        found, most = run.models()[own.name].logits(x), rounded(agreed, own)
        np.testing.assert_allclose(found, expected.model.logits(x), atol=most)
        assert run.hosts[own.name].transferred.trust.in_peers == pytest.approx(
            expected.trust.in_peers, abs=most
        )
    assert not run.problems
    assert all(sum(row) == len(hospitals) - 1 for row in record.answered)
