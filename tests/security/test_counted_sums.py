"""Whole numbers in a sum of curvatures: counts of findings at every single hospital.

Where a number is predicted, the curvature of a finding of 0 and 1 is m - m^2 / (n + 0.05), of m
patients among n. A student of two others knows the sum of two of these to six digits and more.
Attacked: `securefair.model.transfer.sums.veil`.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_of
from securefair.model.transfer import own_fit
from securefair.model.transfer.design import INTERCEPT_PENALTY
from securefair.model.transfer.sums import interface, sum_of
from securefair.model.transfer.sums.veil import LEAST_FACTOR, MOST_PATIENTS, WIDEST, veiled

PREVALENCE = (0.5, 0.4, 0.3, 0.3, 0.2, 0.15, 0.1, 0.04)
FINDINGS = len(PREVALENCE)
DIGITS = 1e-5


def hospital(seed, patients, low=0.0):
    """A number of patients who have findings (1, others low), some of them rare."""
    rng = np.random.default_rng(seed)
    x = (rng.uniform(size=(patients, FINDINGS)) < PREVALENCE).astype(float)
    y = np.clip(0.3 * x[:, 0] - 0.2 * x[:, 1] + rng.normal(0, 0.3, patients), -1, 1)
    x = np.where(x > 0, 1.0, low)
    return Samples(x, (y > np.median(y)).astype(np.int64), 2, outcome="number", values=y[:, None])


def curvatures(samples):
    """What a student opened, of the sum of all of these."""
    fits = [own_fit(one, rng=np.random.default_rng(0)) for one in samples]
    mean = np.mean([sum_of("gradient").told(one) for one in fits], axis=0)
    return np.diagonal(sum_of("gradient").opened(mean, len(fits), FINDINGS).curvature)


def of_counts(counts, patients):
    return counts - counts**2 / (patients + INTERCEPT_PENALTY)


def sizes_that_fit(entries, sizes):
    """Numbers of patients of which some counts give every entry of the sum."""
    found = []
    for pair in product(sizes, repeat=2):
        first, second = (of_counts(np.arange(n + 1.0), n) for n in pair)
        sums = (first[:, None] + second).ravel()
        if pair[0] <= pair[1] and all(np.abs(sums - one).min() < DIGITS for one in entries):
            found.append(pair)
    return found


def test_exact_sums_count_every_finding_at_every_hospital(monkeypatch):
    """Or else the test below shows nothing."""
    monkeypatch.setattr(interface, "veiled", lambda curvature, _: curvature)
    others = [hospital(1, 29), hospital(2, 34)]
    entries = curvatures(others)
    assert sizes_that_fit(entries, range(25, 40)) == [(29, 34)]
    for at, entry in enumerate(entries):
        fits = [
            (a, b)
            for a, b in product(range(30), range(35))
            if abs(of_counts(a, 29) + of_counts(b, 34) - entry) < DIGITS
        ]
        assert fits == [tuple(int(one.features[:, at].sum()) for one in others)]


@pytest.mark.parametrize("seed", range(4))
def test_veiled_ones_fit_no_counts_and_leave_a_range_of_them(seed):
    """Even to whoever knows both sizes: by these a rare one may be nobody's."""
    others = [hospital(10 * seed + 1, 29), hospital(10 * seed + 2, 34)]
    entries = curvatures(others)
    assert sizes_that_fit(entries, range(25, 40)) == []
    most = (1 - LEAST_FACTOR) * MOST_PATIENTS * WIDEST
    for at, entry in enumerate(entries):
        true = tuple(int(one.features[:, at].sum()) for one in others)
        counts = np.array(list(product(range(15), range(18))), dtype=float)  # a half is the most
        said = of_counts(counts[:, 0], 29) + of_counts(counts[:, 1], 34)
        likely = counts[(LEAST_FACTOR * said <= entry) & (entry <= said + 2 * most)]
        if sum(true) <= 3:
            assert likely.min(axis=0).tolist() == [0, 0]  # nobody may have it, here or there
        assert (np.ptp(likely, axis=0) >= 5).all()


def test_it_is_the_same_whoever_asks_and_another_for_other_patients():
    """Draws anew could be averaged; the same ones would make the difference of two sums exact."""
    sums, samples = sum_of("gradient"), hospital(1, 30)
    first, again = (own_fit(samples, rng=np.random.default_rng(0)) for _ in range(2))
    assert np.array_equal(sums.told(first), sums.told(again))
    fewer = samples.take(np.arange(29))
    other = own_fit(fewer, rng=np.random.default_rng(0))
    parts = [interface.known(one).curvature for one in (first, other)]
    factors = [
        (interface.veiled(part, one.samples) - interface.veiled(0 * part, one.samples))[0, 0]
        / part[0, 0]
        for part, one in zip(parts, (first, other), strict=True)
    ]
    assert abs(factors[0] - factors[1]) > 1e-3


@pytest.mark.parametrize("name", ["number", "time", ""])
def test_it_keeps_what_a_sum_promises(name):
    """No curvature is above what was agreed on, and none becomes negative in any direction."""
    samples = hospital(3, 40)
    if name == "time":
        times = np.column_stack([np.arange(1.0, 41), samples.labels])
        samples = Samples(samples.features, samples.labels, 2, outcome="time", values=times)
    elif not name:
        samples = Samples(samples.features, samples.labels, 2)
    fit = own_fit(samples, rng=np.random.default_rng(0))
    curvature = interface.known(fit).curvature
    told = interface.veiled(curvature, samples)
    assert np.linalg.eigvalsh(told).min() >= -1e-9
    bend = outcome_of(samples).curvature
    assert (np.diagonal(told) <= np.maximum(np.diagonal(curvature), bend * len(samples))).all()


def test_no_entry_is_whole_where_findings_are_frequent():
    """As tables write them, -1 and 1, a frequent one bends nearly by the number of patients: a cut
    there told that number."""
    for seed in range(40):
        samples = hospital(seed, 15 + seed % 7, low=-1.0)
        fit = own_fit(samples, rng=np.random.default_rng(0))
        told = np.diagonal(veiled(interface.known(fit).curvature, samples))
        assert np.abs(told - np.rint(told)).min() > 1e-9
        assert told.max() <= len(samples)


def test_rows_in_another_order_are_the_same_and_rows_of_a_patient_count_together():
    samples = hospital(5, 40)
    curvature = interface.known(own_fit(samples, rng=np.random.default_rng(0))).curvature
    order = np.random.default_rng(1).permutation(40)
    assert np.array_equal(veiled(curvature, samples), veiled(curvature, samples.take(order)))
    visits = replace(samples, patients=np.arange(40) // 2)
    more = [np.diagonal(veiled(np.zeros_like(curvature), one)) for one in (samples, visits)]
    np.testing.assert_allclose(more[1], more[0] * min(2, 40 / (MOST_PATIENTS * WIDEST)))
