"""The lowest rungs of transfer: reference = clear."""

import numpy as np
import pytest

from securefair_lab.algorithms.releases import ProjectionRelease, Rounding
from securefair_lab.algorithms.transfer import Transfer, run_transfer
from support.simulated import start_transfer
from support.transfers import agree, make_hospitals

__all__ = ["agree", "make_hospitals"]

pytestmark = pytest.mark.slow  # whole runs

FITS = {1: "linear", 2: "quadratic"}


def reference(agreement, hospitals):
    plan = agreement.plan
    release = ProjectionRelease(
        q=agreement.transfer.q, ring_degree=plan.ring_degree,
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
    return run_transfer(settings, hospitals, 3)


@pytest.mark.parametrize("opened", ["each", "mean"])
@pytest.mark.parametrize(("classes", "degree"), [(2, 1), (3, 1), (2, 2)])
def test_clear_is_the_reference(make_hospitals, agree, opened, classes, degree):
    hospitals = make_hospitals(classes=classes)
    agreed = agree(hospitals, opened=opened, fit=FITS[degree])
    run = start_transfer("transfer", hospitals, agreed, seed=3, backend="clear")
    (record,) = run.rounds(5)
    expected = reference(agreed, hospitals)
    for name, model in expected.models.items():
        x = hospitals[0].test.features
        np.testing.assert_allclose(run.models()[name].logits(x), model.logits(x), atol=1e-6)
        assert run.hosts[name].transferred.trust.in_peers == pytest.approx(
            expected.transferred[name].trust.in_peers, abs=1e-6
        )
    assert not run.problems
    assert all(sum(row) == 3 for row in record.answered)
