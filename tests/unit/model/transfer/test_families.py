import numpy as np
import pytest

from securefair.model.transfer import own_fit
from securefair.model.transfer.averaging import averaging_weights
from securefair.model.transfer.families import Family, average
from securefair.model.transfer.polynomial import Polynomial


def families(draw):
    own = own_fit(draw(0, 30), rng=np.random.default_rng(5))
    said = Polynomial(np.array([0.5]), np.ones((1, own.samples.features.shape[1])))
    shares = np.linspace(0, 1, len(own.validated.losses))
    alone = Family(own.design, own.validated, with_peers=False)
    return own, alone, Family(own.design, own.validated, [(shares, said)]), said, shares


def test_a_setting_is_its_own_part_and_its_share_of_what_was_said(draw):
    own, _, family, said, shares = families(draw)
    later = draw(1, 20).features
    for at, share in enumerate(shares):
        found = family.deployed(np.eye(len(shares))[at]).logits(later)
        fit = own.design.function(own.validated.coefficients[at])
        np.testing.assert_allclose(found, fit.logits(later) + share * said.logits(later))


def test_all_settings_of_all_families_share_one_weight(draw):
    own, alone, family, *_ = families(draw)
    averaged = average([alone, family])
    weights = averaging_weights(np.tile(own.validated.scores, 2))
    half = len(weights) // 2
    assert averaged.in_peers == pytest.approx(weights[half:].sum()) == pytest.approx(0.5)
    later = draw(1, 20).features
    expected = alone.deployed(weights[:half]).logits(later) + family.deployed(
        weights[half:]
    ).logits(later)
    np.testing.assert_allclose(averaged.model.logits(later), expected)
    np.testing.assert_allclose(
        averaged.held_out,
        np.einsum("s,snl->nl", weights[:half] + weights[half:], own.validated.held_out),
    )
