import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, LedgerError
from securefair.protocol.ledger import (
    EVERY_NUMBER,
    Account,
    DisclosurePolicy,
    Ledger,
)
from securefair.records import LedgerRow
from securefair.releases import release_of


def policy(**changes) -> DisclosurePolicy:
    settings = {
        "release": "projection",
        "classes": 2,
        "rows": 10,
        "teacher_parameters": 100,
        "fraction_per_version": 0.5,
    }
    return DisclosurePolicy(**{**settings, **changes})


def charge(ledger, student="bea", *, numbers=20, version=0, basis="features 0", samples=200):
    return ledger.charge(student, numbers=numbers, version=version, basis=basis, samples=samples)


@pytest.mark.parametrize(
    ("release", "numbers", "needs_predictions"),
    [
        ("loss", 1, True),
        ("class_sums", 2, True),
        ("projection", 20, False),
        ("logits", 60, False),
    ],
)
def test_numbers_of_each_release_are_those_of_the_table(release, numbers, needs_predictions):
    assert policy(release=release).numbers_per_answer(samples=30) == numbers
    assert release_of(release).predictions is needs_predictions


def test_the_limit_is_a_fraction_of_the_smaller_disclosure_bound():
    assert policy().limit_per_version(samples=200) == 50  # half of 100 parameters
    assert policy().limit_per_version(samples=15) == 15  # half of 30 logits
    assert policy(fraction_per_version=0.333).limit_per_version(samples=15) == 9  # rounded down
    assert policy(fraction_per_version=None).limit_per_version(samples=1) == math.inf


def test_one_version_is_refused_beyond_its_fraction_and_a_new_one_starts_afresh():
    ledger = charge(charge(Ledger(policy())), basis="other")
    with pytest.raises(LedgerError, match=r"fraction_per_version.*60.*at most 50"):
        charge(ledger, basis="third")
    assert charge(ledger, version=1, basis="third").total == 60


def test_exactly_the_limit_is_allowed():
    assert charge(Ledger(policy()), numbers=50).total == 50
    with pytest.raises(LedgerError):
        charge(Ledger(policy()), numbers=51)


def test_the_same_answer_again_costs_nothing():
    once = charge(Ledger(policy()), numbers=50)
    twice = charge(once, numbers=50)
    assert twice.total == once.total == 50
    assert [row.answers for row in twice.rows(algorithm="a", teacher="t")] == [2]


def test_more_rows_of_the_same_basis_cost_the_difference():
    assert charge(charge(Ledger(policy()), numbers=20), numbers=50).total == 50


def test_logits_need_the_whole_disclosure_bound():
    release_all = policy(release="logits", fraction_per_version=1.0, teacher_parameters=999)
    assert charge(Ledger(release_all), numbers=400).total == 400
    with pytest.raises(LedgerError):
        charge(Ledger(policy(release="logits", fraction_per_version=0.99)), numbers=400)


def test_totals_bound_a_student_over_versions_and_colluding_students():
    ledger = Ledger(policy(student_total=40, teacher_total=60))
    for version in (0, 1):
        ledger = charge(ledger, "bea", version=version)
    with pytest.raises(LedgerError, match=r"student_total.*all versions to bea"):
        charge(ledger, "bea", version=2)
    ledger = charge(ledger, "cem", version=2)
    with pytest.raises(LedgerError, match=r"teacher_total.*all students"):
        charge(ledger, "dan", version=2)


@pytest.mark.parametrize("total", [None, 1 << 63])
def test_whoever_may_have_had_every_number_gets_none_more(total):
    """Without limits, and where a limit is as good as none."""
    limits = policy(fraction_per_version=None, student_total=total, teacher_total=None)
    ledger = Ledger(limits, {"bea": Account(samples=1, total=EVERY_NUMBER)})
    with pytest.raises(LedgerError, match="all versions to bea"):
        charge(ledger, "bea", numbers=1)
    assert charge(ledger, "cem", numbers=1).accounts["cem"].total == 1


def test_a_refused_charge_leaves_the_ledger_as_it_was():
    ledger = charge(Ledger(policy()))
    before = ledger.rows(algorithm="cycle", teacher="ann")
    with pytest.raises(LedgerError):
        charge(ledger, basis="too much", numbers=1000)
    assert ledger.rows(algorithm="cycle", teacher="ann") == before
    assert ledger.accounts["bea"].of_version(0) == 20


def test_rows_give_both_disclosure_bounds_in_order_of_names():
    ledger = charge(charge(Ledger(policy()), "cem", samples=30), "bea", samples=200)
    assert ledger.rows(algorithm="cycle", teacher="ann") == [
        LedgerRow(
            algorithm="cycle",
            student=student,
            teacher="ann",
            release="projection",
            answers=1,
            numbers_per_answer=20,
            numbers_total=20,
            teacher_parameters=100,
            student_logits=logits,
        )
        for student, logits in (("bea", 400), ("cem", 60))
    ]


charges = st.tuples(
    st.sampled_from(["bea", "cem", "dan"]),
    st.integers(1, 40),  # numbers
    st.integers(0, 3),  # version
    st.sampled_from(["x", "y", "z"]),  # basis
)


@given(st.lists(charges, max_size=40))
def test_no_limit_is_ever_exceeded_and_totals_add_up(history):
    limits = policy(student_total=90, teacher_total=150)
    ledger = Ledger(limits)
    released: dict[tuple[str, int, str], int] = {}
    for student, numbers, version, basis in history:
        try:
            ledger = charge(ledger, student, numbers=numbers, version=version, basis=basis)
        except LedgerError:
            continue
        key = (student, version, basis)
        released[key] = max(released.get(key, 0), numbers)
    for student, account in ledger.accounts.items():
        mine = {key[1:]: n for key, n in released.items() if key[0] == student}
        assert account.total == sum(mine.values()) <= 90
        for version in range(4):
            of_version = sum(n for (v, _), n in mine.items() if v == version)
            assert account.of_version(version) == of_version <= limits.limit_per_version(200)
    assert ledger.total == sum(released.values()) <= 150


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes", 0),
        ("rows", 0),
        ("teacher_parameters", 0),
        ("student_total", -1),
        ("teacher_total", -1),
        ("fraction_per_version", 0.0),
        ("fraction_per_version", math.nan),
        ("fraction_per_version", math.inf),
    ],
)
def test_an_impossible_policy_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        policy(**{name: value})


def test_bits_that_numbers_carry_have_a_limit_of_their_own():
    ledger = Ledger(policy(fraction_per_version=None, student_bits=1.0))
    for number in range(10):  # ten tenths make one
        ledger = ledger.charge(
            "bea", numbers=1, bits=0.1, version=0, basis=str(number), samples=200
        )
    with pytest.raises(LedgerError, match=r"student_bits.*too many bits to bea"):
        ledger.charge("bea", numbers=1, bits=0.001, version=0, basis="more", samples=200)
    assert charge(ledger, "cem").accounts["cem"].carried == 0.0


def test_what_comes_with_other_noise_costs_as_often_as_it_is_given():
    ledger = Ledger(policy(fraction_per_version=None, student_total=40))
    for _ in range(2):
        ledger = ledger.charge(
            "bea", numbers=20, version=0, basis="one", samples=200, repeats=False
        )
    assert ledger.accounts["bea"].released == {0: {"one": 40}}
    with pytest.raises(LedgerError):
        ledger.charge("bea", numbers=1, version=0, basis="one", samples=200, repeats=False)


@pytest.mark.parametrize("name", ["student_total", "student_bits", "teacher_total"])
@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_what_bounds_nothing_is_no_limit(name, value):
    with pytest.raises(ConfigError, match="not a limit"):
        policy(**{name: value})
    ledger = Ledger(policy(fraction_per_version=None, **{name: 0}))
    with pytest.raises(LedgerError):
        ledger.charge("bea", numbers=1, bits=1.0, version=0, basis="one", samples=1)
