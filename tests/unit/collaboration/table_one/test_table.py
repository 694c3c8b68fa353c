"""Table 1 against the same of everybody's patients in one place."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.collaboration.table_one.cells import BINS, OwnVariable, Variable, variables_of
from securefair.collaboration.table_one.rules import (
    FEWEST_PATIENTS,
    answers,
    tellable,
    told,
    width,
)
from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from securefair.errors import ConfigError, DataError
from support import described as support

SPEC = TableSpec(
    columns=(
        NumericColumn(name="age", low=20, high=90),
        NumericColumn(name="crp", low=0, high=100, optional=True),
        BinaryColumn(name="sex", no="f", yes="m"),
        CategoricalColumn(name="ward", levels=("A", "B", "C", "D")),
    ),
    target=Target(name="ill", groups=(("0",), ("1",))),
)


def patients(seed, count=60, rare=0, without=0):
    """Some of a rare ward, some without a value of crp."""
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 3, count)
    ward[:rare] = 3
    missing = np.arange(count) < without
    features = np.column_stack(
        [
            rng.uniform(-1, 1, count),
            np.where(missing, 0, rng.uniform(-1, 1, count)),
            missing,
            rng.choice([-1.0, 1.0], count),
            np.eye(4)[ward],
        ]
    )
    return Samples(features, rng.integers(0, 2, count), 2)


def described(people, **settings):
    found = support.described(SPEC, people, **settings)
    rows = {(one.variable, one.figure, one.level): one.together for one in found.rows}
    return found, rows


def test_it_is_that_of_everybodys_patients_in_one_place():
    people = {f"h{at}": patients(at, 50 + 10 * at, rare=3, without=4) for at in range(4)}
    found, rows = described(people)
    every = np.concatenate([one.features for one in people.values()])
    labels = np.concatenate([one.labels for one in people.values()])
    assert found.patients == len(every) == sum(found.by_hospital.values())
    age = 55 + 35 * every[:, 0]
    assert rows["age", "mean", ""] == pytest.approx(age.mean(), abs=1)
    assert rows["age", "sd", ""] == pytest.approx(age.std(ddof=1), rel=0.05)
    for figure, share in (("q25", 0.25), ("median", 0.5), ("q75", 0.75)):
        assert rows["age", figure, ""] == pytest.approx(np.quantile(age, share), abs=70 / 16)
    there = every[:, 2] == 0
    assert rows["crp", "missing", ""] == (~there).sum() == 16
    assert rows["crp", "mean", ""] == pytest.approx((50 + 50 * every[there, 1]).mean(), abs=1)
    assert rows["sex", "level", "m"] == (every[:, 3] > 0).sum()
    assert [rows["ward", "level", level] for level in "ABCD"] == every[:, 4:].sum(axis=0).tolist()
    assert rows["ill", "level", "1"] == labels.sum()
    assert rows["age", "missing", ""] == 0
    alone = next(one for one in found.rows if one.figure == "mean").by_hospital["h2"]
    assert alone == pytest.approx((55 + 35 * people["h2"].features[:, 0]).mean())


@pytest.mark.parametrize("rare", [(1, 0, 0), (4, 3, 0), (9, 0, 0), (2, 2, 2), (40, 9, 2)])
def test_a_rare_level_is_not_told_nor_does_the_rest_tell_it(rare):
    people = {f"h{at}": patients(at, rare=many) for at, many in enumerate(rare)}
    found, rows = described(people)
    levels = [rows["ward", "level", level] for level in "ABCD"]
    assert levels[3] is None
    assert sum(one is None for one in levels) == 2  # one more, or the rest would be it
    rest = rows["ward", "others", ""]
    assert rest == found.patients - sum(one for one in levels if one is not None)
    assert rest - sum(rare) > FEWEST_PATIENTS


def test_a_level_that_nobody_has_is_told_as_little_as_a_rare_one():
    nobody, one = ({f"h{at}": patients(at, rare=rare) for at in range(3)} for rare in (0, 1))
    for people in (nobody, one):
        _, rows = described(people)
        assert rows["ward", "level", "D"] is None
        assert rows["crp", "missing", ""] is None
        assert rows["age", "missing", ""] == 0  # by the rules it is never missing


def test_fewer_hospitals_may_be_enough():
    people = {f"h{at}": patients(at, rare=5 if at < 3 else 0) for at in range(5)}
    _, rows = described(people)
    assert rows["ward", "level", "D"] is None
    found, rows = described(people, hospitals=3)
    assert rows["ward", "level", "D"] == 15
    assert found.hospitals == 3
    with pytest.raises(ConfigError, match="more hospitals than there are"):
        described(people, hospitals=6)


def test_figures_are_read_where_there_are_patients_enough():
    """Nine patients each, in three places of the range: a median in a wide gap is not told, and a
    mean of such groups as little."""

    def few(seed):
        one = patients(seed, 9)
        one.features[:, 0] = np.repeat([-0.9, 0.1, 0.9], 3)
        return one

    _, rows = described({f"h{at}": few(at) for at in range(3)})
    figures = ("mean", "sd", "q25", "median", "q75")
    assert [rows["age", figure, ""] for figure in figures] == [None] * 5


def test_a_mean_follows_from_the_groups_and_from_nothing_else():
    """Whatever values within the groups are: what is told of them is the same."""
    people = {f"h{at}": patients(at) for at in range(3)}
    moved = {name: replace(one, features=one.features.copy()) for name, one in people.items()}
    for one in moved.values():
        scaled = one.features[:, 0]
        scaled[:] = (np.floor((scaled + 1) / 2 * BINS) + 0.999) / BINS * 2 - 1
    _, rows = described(people)
    assert described(moved)[1] == rows
    assert rows["age", "mean", ""] is not None


def test_a_mean_of_skewed_values_is_near_theirs():
    """Spread evenly over a group that reaches to the end of the range they would be far above."""

    def skewed(seed):
        one = patients(seed, 200)
        one.features[:, 0] = np.random.default_rng(seed).exponential(0.15, 200).clip(0, 2) - 1
        return one

    people = {f"h{at}": skewed(at) for at in range(4)}
    _, rows = described(people)
    age = 55 + 35 * np.concatenate([one.features[:, 0] for one in people.values()])
    assert rows["age", "mean", ""] == pytest.approx(age.mean(), abs=0.1 * age.std())
    assert rows["age", "sd", ""] == pytest.approx(age.std(ddof=1), rel=0.15)


def test_few_missing_values_count_as_the_median_of_their_hospital():
    people = {f"h{at}": patients(at, without=3 if at == 1 else 0) for at in range(3)}
    found, rows = described(people)
    assert found.filled == ["crp"]
    assert rows["crp", "missing", ""] is None
    own = [one.features[one.features[:, 2] == 0, 1] for one in people.values()]
    filled = np.concatenate([*own, np.full(3, np.median(own[1]))])
    assert rows["crp", "mean", ""] == pytest.approx(50 + 50 * filled.mean(), abs=1)


def test_a_hospital_without_values_counts_in_the_middle_of_the_range():
    nobody = OwnVariable(np.full(5, BINS), np.full(5, np.nan), BINS + 1)
    assert set(nobody.filled().cell) == {BINS // 2}


def test_a_column_that_one_hospital_alone_has_is_not_averaged():
    people = {f"h{at}": patients(at, without=60 if at else 0) for at in range(3)}
    _, rows = described(people)
    assert rows["crp", "mean", ""] is None
    assert rows["crp", "missing", ""] is None  # two hospitals have some: their number is no cell


def test_too_few_are_refused():
    with pytest.raises(ConfigError, match="too few to be described together"):
        described({"a": patients(0), "b": patients(1)})
    with pytest.raises(DataError, match=r"too few to be described together.*4 patients"):
        described({"a": patients(0), "b": patients(1), "c": patients(2, 4)})


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_bins_hold_everybody_and_each_may_be_told(seed):
    rng = np.random.default_rng(seed)
    variable = variables_of("", SPEC.columns, [])[0]
    own, wide = [], rng.choice([0.05, 0.2, 0.6])
    for _ in range(3):
        scaled = np.clip(rng.normal(rng.choice([-0.5, 0.0]), wide, 12), -1, 1)
        cell = np.clip(np.floor((scaled + 1) / 2 * BINS), 0, BINS - 1).astype(np.int64)
        own.append(OwnVariable(cell, scaled, BINS))
    yes = np.sum([answers(one, variable) for one in own], axis=0).astype(np.int64)
    assert len(yes) == width(variable)
    allowed = tellable(variable, yes, 3)
    assert sorted(at for group in allowed.groups for at in group) == list(range(BINS))
    sums = np.sum([told([one], [variable], (allowed,)) for one in own], axis=0)[1:]
    counts = [sums[group[0]] for group in allowed.groups]
    assert min(counts) > FEWEST_PATIENTS
    assert sum(counts) == 36


def test_a_variable_knows_its_unit():
    assert Variable("age", low=20, high=90).in_unit(0.0) == 55
