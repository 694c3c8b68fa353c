"""Two fits of one hospital tell who came between them: of one patient nearly the record.

The attacker is a peer that has opened a hospital's linear fit before and after its patients
changed, as numbers of answers about enough own patients tell it. A refused renewal opens no second
one.
"""

from dataclasses import replace

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import DataError
from securefair.model.transfer import own_fit
from securefair.privacy.membership import FEWEST_CHANGED, Membership
from support.agreements import agree
from support.simulated import start_transfer

FEATURES, KEY = 8, b"key"


def draw(rng, count):
    x = rng.uniform(-1, 1, (count, FEATURES))
    slopes = np.linspace(2, -2, FEATURES)
    return Samples(x, (x @ slopes + rng.logistic(size=count) > 0).astype(np.int64), 2)


def joined(*parts):
    return Samples(
        np.concatenate([one.features for one in parts]),
        np.concatenate([one.labels for one in parts]),
        2,
    )


def fit(samples):
    return own_fit(samples, rng=np.random.default_rng(0)).model


def what_came(before, after, own):
    """H (theta' - theta), which is to first order the gradient of whoever came; H of own patients.

    Returns its direction, without the constant: (label - p) x for one patient.
    """
    x = np.column_stack([np.ones(len(own)), own.features])
    probability = 1 / (1 + np.exp(-before.logits(own.features)[:, 0]))
    curvature = (x.T * (probability * (1 - probability))) @ x
    change = np.concatenate([after.constant - before.constant, (after.linear - before.linear)[0]])
    direction = (curvature @ change)[1:]
    return direction / np.linalg.norm(direction)


def alike(direction, patients):
    """Cosines of a direction with patients, turned towards their class."""
    turned = patients.features * (2 * patients.labels[:, None] - 1)
    return turned @ direction / np.linalg.norm(turned, axis=1)


def attacked(count, runs=24):
    """(runs, 2): how alike the nearest is of those who came, and of as many who never did."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        known, came, own, others = (draw(rng, size) for size in (120, count, 100, count))
        direction = what_came(fit(known), fit(joined(known, came)), own)
        found.append((alike(direction, came).max(), alike(direction, others).max()))
    return np.array(found)


@pytest.mark.slow  # 96 fits
def test_two_fits_tell_of_one_patient_and_not_which_of_many():
    single = np.median(attacked(1), axis=0)
    assert single[0] > 0.85  # the record, up to its length, with its class
    assert abs(single[1]) < 0.5
    many = np.median(attacked(FEWEST_CHANGED), axis=0)
    assert many[0] < 0.8
    assert abs(many[0] - many[1]) < 0.15  # the nearest of them is no nearer than of strangers


def hospital(seed, count=60):
    rng = np.random.default_rng(seed)
    return ParticipantData("abc"[seed], draw(rng, count), draw(rng, 20))


def transfer():
    """Two hospitals, which open each other's answers, and ended the exchange."""
    hospitals = [hospital(0), hospital(1)]
    names = [one.name for one in hospitals]
    agreement = agree("transfer", names, shape=FEATURES, samples=200, seed=1, opened="each")
    run = start_transfer("transfer", hospitals, agreement, seed=1, backend="clear")
    list(run.rounds(1))
    return run.hosts["a"]


def test_a_hospital_does_not_go_on_with_one_patient_more():
    host = transfer()
    rng = np.random.default_rng(9)
    fits, accounts = (host.version, host.own), dict(host.machine.ledger.accounts)
    for came in (1, FEWEST_CHANGED - 1):
        more = replace(host.data, train=joined(host.data.train, draw(rng, came)))
        with pytest.raises(DataError, match=f"too few patients changed.*{came} that came"):
            host.renew(more)
    less = replace(host.data, train=host.data.train.take(np.arange(1, 60)))
    with pytest.raises(DataError, match="1 that went"):
        host.renew(less)
    assert (host.version, host.own) == fits
    host.renew(replace(host.data, train=joined(host.data.train, draw(rng, FEWEST_CHANGED))))
    assert host.version == 1
    assert host.machine.ledger.accounts == accounts  # nothing comes back to the budget


def test_who_went_gives_nothing_back_and_what_is_told_anew_is_charged_anew():
    host = transfer()
    before = host.machine.ledger.accounts["b"]
    host.renew(replace(host.data, train=host.data.train.take(np.arange(25, 60))))
    told = host.machine.ledger.charge(
        "b", numbers=3, version=host.version, basis="same", samples=60
    )
    assert told.accounts["b"].total == before.total + 3


def parts(*sizes):
    rng = np.random.default_rng(3)
    return [draw(rng, size) for size in sizes]


def members(*tables):
    found = Membership()
    for table in tables:
        found = found.plus(table, KEY)
    return found


def test_there_and_back_again_leaves_nobody_alone():
    """Each change is of many; the first and the last table differ by one patient."""
    stay, many, one = parts(60, 40, 1)
    members(stay, joined(stay, many, one)).check("a")
    with pytest.raises(DataError, match="too few"):
        members(stay, joined(stay, many, one), joined(stay, one)).check("a")


def test_no_combination_of_tables_is_of_few():
    """Every two differ by many, and table 0 - 1 + 2 - 3 is one patient alone."""
    stay, early, middle, late, one = parts(60, 30, 30, 30, 1)
    tables = (
        joined(stay, early, one),
        joined(stay, early, middle),
        joined(stay, middle, late),
        joined(stay, late),
    )
    factors = (1, -1, 1, -1)
    left = {}
    for factor, table in zip(factors, tables, strict=True):
        for patient in Membership().plus(table, KEY).found:
            left[patient] = left.get(patient, 0) + factor
    assert sum(1 for count in left.values() if count) == 1
    with pytest.raises(DataError, match="too few"):
        members(*tables).check("a")


def test_patients_count_and_not_rows():
    stay, came = parts(60, 30)
    ten = replace(came, patients=np.arange(30) // 3)
    before = replace(stay, patients=np.arange(60))
    after = joined(stay, came)
    after = replace(after, patients=np.concatenate([np.arange(60), 60 + np.asarray(ten.patients)]))
    with pytest.raises(DataError, match="10 that came"):
        members(before, after).check("a")


def test_equal_rows_are_different_patients():
    stay, came = parts(60, 1)
    twice = joined(stay, *[came] * FEWEST_CHANGED)
    members(stay, twice).check("a")
    with pytest.raises(DataError, match="1 that went"):
        members(twice, joined(stay, *[came] * (FEWEST_CHANGED - 1))).check("a")


def test_a_first_table_may_be_as_small_as_it_is():
    members(*parts(5)).check("a")
    small = parts(5)[0]
    with pytest.raises(DataError, match="5 that stayed"):
        members(small, small, joined(small, *parts(30))).check("a")
