"""What the digits of table 1 tell: of rare values, of missing ones, and of rows of one patient.

Attacked: the kind `table-one`, by whoever reads what it opens, and by whoever writes the rules.
"""

import numpy as np
import pytest

from securefair.collaboration.table_one.cells import BINS, OwnVariable
from securefair.collaboration.table_one.question import CountsQuestion
from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from support.described import agreed_on, played

NAMES = ("north", "south", "west")
LOW, HIGH = 0, 128
AGE = NumericColumn(name="age", low=LOW, high=HIGH, optional=True)


def spec_of(column):
    return TableSpec(columns=(column,), target=Target(name="ill", groups=(("0",), ("1",))))


def numbers(values, low, high):
    """Patients with these values of one measurement."""
    scaled = np.clip(2 * (np.asarray(values, float) - low) / (high - low) - 1, -1, 1)
    return Samples(scaled[:, None], np.arange(len(scaled)) % 2, 2)


def world(column, south, others):
    """All that north opens, and its table, where south has these patients."""
    run = played(spec_of(column), {"north": others[0], "south": south, "west": others[1]})
    host = run.hosts["north"]
    assert len(host.notes.released) == 2
    together = [(row.figure, row.level, row.together) for row in host.description().rows]
    return list(host.notes.released.values()), together


def assert_alike(worlds):
    first, *others = worlds
    for other in others:
        for one, two in zip(first[0], other[0], strict=True):
            np.testing.assert_array_equal(one, two)
        assert first[1] == other[1]


def test_one_or_two_rare_values_are_in_no_digit():
    """A number that is 0 for nearly everybody: mean and SD told both patients and their values."""
    column = NumericColumn(name="transplants", low=0, high=10)
    others = [numbers([1, *[0] * 39], 0, 10), numbers([0] * 40, 0, 10)]
    rare = ([], [2], [1, 1], [3, 5], [10, 10])
    souths = [numbers([*some, *[0] * (40 - len(some))], 0, 10) for some in rare]
    assert_alike([world(column, south, others) for south in souths])


def test_whoever_writes_the_range_finds_nobody_beyond_it():
    """Rules that clip nearly everybody to the lower end, so that one older patient stands out."""
    column = NumericColumn(name="age", low=88, high=110)
    ages = [np.random.default_rng(at).integers(40, 89, 40) for at in range(3)]
    souths = [numbers([*ages[2][1:], oldest], 88, 110) for oldest in (80, 97, 104, 110)]
    others = [numbers(one, 88, 110) for one in ages[:2]]
    assert_alike([world(column, south, others) for south in souths])


@pytest.mark.parametrize("kind", ["binary", "numeric"])
def test_a_rare_flag_is_hidden_whatever_the_rules_call_it(kind):
    called = {
        "binary": BinaryColumn(name="hiv", no="0", yes="1"),
        "numeric": NumericColumn(name="hiv", low=0, high=1),
    }
    others = [numbers([1, *[0] * 39], 0, 1), numbers([0] * 40, 0, 1)]
    souths = [numbers(np.arange(40) < rare, 0, 1) for rare in range(3)]
    assert_alike([world(called[kind], south, others) for south in souths])


def test_a_common_flag_is_counted_as_often_whatever_the_rules_call_it():
    column = NumericColumn(name="hiv", low=0, high=1)
    three = [numbers(np.arange(40) < many, 0, 1) for many in (9, 12, 20)]
    opened, _ = world(column, three[2], three[:2])
    counts = opened[1][1 + 2 :]
    assert sorted(counts[counts > 0].tolist()) == [32, 120 - 40 - 32]


def ages(seed, count, missing=0, at=None):
    """Whole years; of the first ones none is known, or all have the value `at`."""
    years = np.random.default_rng(seed).integers(30, 95, count).astype(float)
    scaled, gone = 2 * (years - LOW) / (HIGH - LOW) - 1, np.arange(count) < missing
    scaled[:missing] = 0.0 if at is None else at
    x = np.stack([scaled, gone & (at is None)], axis=1).astype(float)
    return Samples(x, np.arange(count) % 2, 2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [1, 2])
def test_one_or_two_missing_values_are_told_by_nothing(seed, missing):
    """All that is opened is as of a hospital that knows everybody's age. A hospital's own mean in
    place of missing values told by its denominator how many have one."""
    others, gone = [ages(100, 40), ages(101, 45)], ages(seed, 37, missing)
    scaled = np.where(gone.features[:, 1] > 0, np.nan, gone.features[:, 0])
    cell = np.where(np.isnan(scaled), BINS, (np.nan_to_num(scaled) + 1) / 2 * BINS).astype(int)
    filled = OwnVariable(cell, scaled, BINS + 1).filled().cell[0]
    nobody = ages(seed, 37, missing, at=(filled + 0.5) / BINS * 2 - 1)
    (opened, table), (known, other) = world(AGE, gone, others), world(AGE, nobody, others)
    for one, two in zip(opened, known, strict=True):
        np.testing.assert_array_equal(one, two)
    assert table == other


@pytest.mark.parametrize("people", range(3, 8))
def test_a_sum_holds_whole_numbers_and_no_other_digits(people):
    """A third of a count, rounded by each hospital before it is added, told more of the parts than
    their sum does: 1 + 1 + 1 from 0 + 1 + 2."""
    rng = np.random.default_rng(people)
    names = "abcdefgh"[:people]
    given = {name: numbers(rng.uniform(0, 10, 30), 0, 10) for name in names}
    run = played(spec_of(NumericColumn(name="crp", low=0, high=10)), given)
    question = run.hosts["a"].agreement.question
    assert isinstance(question, CountsQuestion)
    assert question.plan.fixed.log2_scale == 0
    for round, opened in enumerate(run.hosts["a"].notes.released.values()):
        parts = np.sum([run.hosts[name].added(round) for name in names[1:]], axis=0)
        np.testing.assert_array_equal(opened, parts)
        np.testing.assert_array_equal(opened, np.rint(opened))


def test_every_number_that_leaves_is_a_yes_or_the_count_of_a_group_of_three_or_more():
    """Whatever hospitals have, of the numbers of each by itself, before any mask."""
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(60):
        spread, centre = rng.choice([0.05, 0.2, 0.6]), rng.uniform(-0.8, 0.8)
        given = {}
        for name in NAMES:
            count = int(rng.integers(6, 60))
            scaled = np.clip(rng.normal(centre, spread, count), -1, 1)
            gone = np.arange(count) < rng.choice([0, 1, 2, 5])
            x = np.stack([np.where(gone, 0, scaled), gone], axis=1).astype(float)
            given[name] = Samples(x, np.arange(count) % 2, 2)
        _, _, agreement, data = agreed_on(spec_of(AGE), given)
        exchanges = [
            agreement.question.exchange(agreement.patients_of(own), keys=None) for own in data
        ]
        first = np.sum([one.numbers(0) for one in exchanges], axis=0)
        for one in exchanges:
            one.decide(first - one.numbers(0))
            assert set(one.numbers(0)[1:].tolist()) <= {0.0, 1.0}
            sent = one.numbers(1)
            np.testing.assert_array_equal(sent, np.rint(sent))
            groups = one.allowed[-1].groups
            places = [1 + 2 + group[0] for group in groups]
            assert sent[places].min(initial=3) >= 3
            others = np.delete(sent, [0, 1, 2, *places])
            assert not others.any()
            told += len(groups)
    assert told > 100


# --- rows are not patients ---


def wards(counts, whose=None):
    cell = np.repeat(np.arange(3), counts)
    who = np.arange(len(cell)) if whose is None else np.asarray(whose)
    return Samples(np.eye(3)[cell], np.arange(len(cell)) % 2, 2, patients=who.astype(np.int64))


WARD = CategoricalColumn(name="ward", levels=("A", "B", "C"))


def test_three_rows_of_one_patient_do_not_pass_for_three_patients():
    """South has one patient in ward C, who came three times: as if it had come once."""
    others = [wards((20, 20, 9)), wards((20, 20, 9))]
    thrice = np.where(np.arange(43) < 40, np.arange(43), 40)
    (opened, table), once = (
        world(WARD, south, others) for south in (wards((20, 20, 3), thrice), wards((20, 20, 1)))
    )
    assert {level: told for _, level, told in table}["C"] is None
    np.testing.assert_array_equal(opened[0][3:], once[0][0][3:])
    assert opened[0][0] == 49 + 41
    of_three_patients, _ = world(WARD, wards((20, 20, 3)), others)
    assert of_three_patients[0][5] == opened[0][5] + 1
