"""What a description tells a hospital, which keeps all that it opens, of another.

Attacked: sums of `securefair.collaboration.describing`.
"""

import numpy as np
import pytest

from securefair.averaging import Gathering, make_share
from securefair.collaboration.describing import rules, sums, table_one
from securefair.collaboration.describing.cells import OwnVariable, Variable
from securefair.config.columns import NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from securefair.errors import RemoteProtocolError

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
