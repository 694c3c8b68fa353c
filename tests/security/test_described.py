"""What a description tells a hospital, which keeps all that it opens, of another.

Attacked: sums of `securefair.collaboration.describing`.
"""

import numpy as np
import pytest

from securefair.averaging import Gathering, make_share
from securefair.collaboration.describing import rules, sums, table_one
from securefair.collaboration.describing.cells import OwnVariable, Variable
from securefair.config.columns import CategoricalColumn, NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from securefair.errors import LedgerError, RemoteProtocolError

WARD = Variable("ward", ("A", "B", "C"))
SESSION = b"s" * 32


def hospital(*counts):
    return OwnVariable(np.repeat(np.arange(4), counts), np.empty(0), 4)


def allowed(hospitals):
    yes = np.sum([rules.answers(one, WARD) for one in hospitals], axis=0).astype(np.int64)
    return rules.tellable(WARD, yes, len(hospitals))


@pytest.mark.parametrize("rare", range(12))
def test_a_rare_cell_never_leaves_a_hospital(rare):
    """Whatever its count: what is sent is the same with and without those patients."""
    others = [hospital(20, 20, 0, 0), hospital(30, 10, 0, 0)]
    rule = allowed([*others, hospital(15, 15, rare, 0)])
    sent = rules.told([hospital(15, 15, rare, 0)], [rule])
    assert 2 not in {at for group in rule.groups for at in group}
    np.testing.assert_array_equal(sent, rules.told([hospital(15, 15, 0, 0)], [rule]))


def test_who_subtracts_what_is_told_from_everybody_finds_no_small_cell():
    rng = np.random.default_rng(0)
    for _ in range(300):
        people = [hospital(*rng.poisson(rng.choice([0.3, 1, 3, 20], 4))) for _ in range(3)]
        rule = allowed(people)
        total = np.sum([one.counts for one in people], axis=0)
        shown = {group[0] for group in rule.groups}
        assert all(total[at] > rules.FEWEST_PATIENTS for at in shown)
        rest = total.sum() - sum(total[at] for at in shown)
        if shown:
            assert rest == 0 or rest > rules.FEWEST_PATIENTS
        assert all(total[at] == 0 for at in rule.empty)


def test_a_part_of_a_sum_tells_nothing_and_nobody_gets_a_second_one():
    people = sums.summers(["a", "b", "c"])
    plan = sums._plan(2, 3)
    publics = {one.name: one.keys.public for one in people}
    (alone, *_), (way, format_) = people, plan

    def part(vector, senders=("a", "b"), attempt=0):
        gathering = Gathering(
            session=SESSION, round=0, attempt=attempt, receiver="c", senders=senders
        )
        keys = {name: key for name, key in publics.items() if name != "a"}
        request = way.ask(format_, people[2].keys, gathering, dict.fromkeys(senders, 0.5))["a"]
        alone.shares, sent = make_share(
            alone.shares, way, format_, alone.keys, keys, gathering, "a", request, vector
        )
        return sent

    first = part(np.zeros(2))
    assert part(np.ones(2)) == first  # asked again it says the same, whatever it has now
    with pytest.raises(RemoteProtocolError, match="another sum in the same attempt"):
        part(np.ones(2), senders=("a", "d"))


def test_everybody_opens_the_same_table_and_nobody_more_than_is_counted(monkeypatch):
    opened = []
    add_up = table_one.add_up

    def heard(*given):
        opened.append(add_up(*given))
        return opened[-1]

    monkeypatch.setattr(table_one, "add_up", heard)
    spec = TableSpec(
        columns=(NumericColumn(name="age", low=0, high=1),),
        target=Target(name="ill", groups=(("0",), ("1",))),
    )
    rng = np.random.default_rng(0)
    people = {
        name: Samples(rng.uniform(-1, 1, (30, 1)), rng.integers(0, 2, 30), 2) for name in "abc"
    }
    found = table_one.describe_samples(spec, people)
    for totals in opened:
        first, *others = totals.values.values()
        for one in others:
            np.testing.assert_allclose(one, first, atol=1e-3)
    assert found.numbers == sum(len(one.values["a"]) for one in opened)
    assert found.bits == 64


def wards(**patients):
    """Hospitals whose patients are in wards A, B, C, by the rules of one column."""
    spec = TableSpec(
        columns=(CategoricalColumn(name="ward", levels=("A", "B", "C")),),
        target=Target(name="ill", groups=(("0",), ("1",))),
    )
    people = {}
    for name, counts in patients.items():
        cell = np.repeat(np.arange(3), counts)
        features = np.eye(3)[cell]
        people[name] = Samples(features, np.arange(len(cell)) % 2, 2)
    return spec, people


def shown(found, level):
    return next(one.together for one in found.rows if (one.variable, one.level) == ("ward", level))


def test_two_tables_that_differ_tell_their_difference_and_hospitals_know(monkeypatch):
    """One patient of the north is new. Each table alone hides it; one less the other is it."""
    spec, first = wards(north=(20, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    _, then = wards(north=(21, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    told = table_one.describe_samples(spec, first)
    unprotected = table_one.describe_samples(spec, then)
    gone = [shown(unprotected, one) - shown(told, one) for one in "ABC" if shown(told, one)]
    assert sorted(gone)[-1] == 1  # the attack: the new patient's ward
    opened = []
    monkeypatch.setattr(table_one, "add_up", lambda *given: opened.append(given))
    with pytest.raises(LedgerError, match="may be a single patient") as refused:
        table_one.describe_samples(spec, then, before=told.told)
    assert refused.value.where == "north"
    assert not opened  # not even whether it has anybody
    by_other_rules = spec.model_copy(
        update={"columns": (CategoricalColumn(name="ward", levels=("A", "B", "C", "D")),)}
    )
    with pytest.raises(LedgerError, match="by other rules"):
        table_one.describe_samples(by_other_rules, first, before=told.told)


def test_the_same_table_again_costs_nothing_and_another_is_counted():
    spec, first = wards(north=(20, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    _, then = wards(north=(21, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    told = table_one.describe_samples(spec, first)
    shuffled = {
        name: one.take(np.random.default_rng(1).permutation(len(one)))
        for name, one in first.items()
    }
    same = table_one.describe_samples(spec, shuffled, before=told.told)
    assert same.told == told.told
    assert same.rows == told.rows
    other = table_one.describe_samples(spec, then, before=told.told, again=True)
    assert other.told["north"].descriptions == 2
    assert other.told["north"].numbers == told.numbers + other.numbers
    assert other.told["south"] == told.told["south"]


@pytest.mark.parametrize("colluding", [1, 2])
def test_who_works_together_finds_the_sum_of_the_others_and_no_more(colluding):
    """Of four, t hospitals put together all that they opened and sent. What they hold is the same
    whichever of the others has which patients; all but one together know that one's."""
    rng = np.random.default_rng(0)
    names = ["a", "b", "c", "d"]
    vectors = {name: rng.integers(0, 50, 6).astype(float) for name in names}
    honest = names[colluding:]
    moved = dict(
        vectors,
        **dict(zip(honest, np.roll([vectors[one] for one in honest], 1, axis=0), strict=True)),
    )
    views = []
    for given in (vectors, moved):
        totals = sums.add_up(SESSION, 0, sums.summers(names), given)
        views.append([np.rint(totals.values[one] - given[one]) for one in names[:colluding]])
    np.testing.assert_array_equal(views[0], views[1])
    rest = views[0][0] - sum(vectors[one] for one in names[1:colluding])
    np.testing.assert_allclose(rest, sum(vectors[one] for one in honest))
