"""What table 1 tells a hospital, which keeps all that it opens and may lie, of another.

Attacked: the kind `table-one`, its sums and its ledger.
"""

import hashlib
import json

import numpy as np
import pytest

from securefair.averaging import Gathering
from securefair.collaboration.table_one import rules
from securefair.collaboration.table_one.cells import OwnVariable, Variable
from securefair.collaboration.told import ToldFile
from securefair.config.columns import CategoricalColumn, NumericColumn
from securefair.data import Samples
from securefair.data.table import TableSpec, Target
from securefair.errors import LedgerError, RemoteProtocolError, StorageError
from securefair.protocol.effects import Blame, Received
from securefair.protocol.jobs import AnswerAsk
from securefair.protocol.messages import Ask
from support.described import described, played

WARD = Variable("ward", ("A", "B", "C"))
FIRST_WARD = 3
"""Where wards stand in a sum: behind patients and the two classes."""


def hospital(*counts):
    return OwnVariable(np.repeat(np.arange(3), counts), np.empty(0), 3)


def allowed(hospitals):
    yes = np.sum([rules.answers(one, WARD) for one in hospitals], axis=0).astype(np.int64)
    return rules.tellable(WARD, yes, len(hospitals))


def wards(**patients):
    """Hospitals whose patients are in wards A, B, C, by the rules of one column."""
    spec = TableSpec(
        columns=(CategoricalColumn(name="ward", levels=("A", "B", "C")),),
        target=Target(name="ill", groups=(("0",), ("1",))),
    )
    people = {}
    for name, counts in patients.items():
        cell = np.repeat(np.arange(3), counts)
        people[name] = Samples(np.eye(3)[cell], np.arange(len(cell)) % 2, 2)
    return spec, people


def shown(found, level):
    return next(one.together for one in found.rows if (one.variable, one.level) == ("ward", level))


def opened(run, name):
    """All that a hospital opened, of the others together, by round."""
    return list(run.hosts[name].notes.released.values())


# --- what the rules keep ---


@pytest.mark.parametrize("rare", range(12))
def test_a_rare_cell_never_leaves_a_hospital(rare):
    """Whatever its count: what is sent is the same with and without those patients."""
    others = [hospital(20, 20, 0), hospital(30, 10, 0)]
    rule = allowed([*others, hospital(15, 15, rare)])
    sent = rules.told([hospital(15, 15, rare)], [WARD], (rule,))
    assert 2 not in {at for group in rule.groups for at in group}
    np.testing.assert_array_equal(sent, rules.told([hospital(15, 15, 0)], [WARD], (rule,)))


def test_who_subtracts_what_is_told_from_everybody_finds_no_small_cell():
    """Nor does a hospital that takes out its own patients as well."""
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(300):
        means = rng.choice([0.3, 1, 5, 20], 3)
        people = [hospital(*rng.poisson(means)) for _ in range(3)]
        rule = allowed(people)
        groups = {group[0] for group in rule.groups}
        told += len(groups)
        for own in (hospital(0, 0, 0), *people):
            total = np.sum([one.counts for one in people], axis=0) - own.counts
            assert all(total[at] > rules.FEWEST_PATIENTS for at in groups)
            rest = total.sum() - sum(total[at] for at in groups)
            if groups:
                assert rest == 0 or rest > rules.FEWEST_PATIENTS
    assert told > 100


@pytest.mark.parametrize("rare", [1, 2])
def test_first_sums_do_not_tell_a_rare_cell_from_an_empty_one(rare):
    """Not even how many hospitals have somebody: with how many have three it would tell of one."""
    (spec, without), (_, within) = (
        wards(north=(20, 20, 0), south=(20, 20, some), west=(20, 20, some)) for some in (0, rare)
    )
    before, after = (opened(played(spec, people), "north") for people in (without, within))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one[FIRST_WARD:], other[FIRST_WARD:])


# --- a receiver that cheats ---


def serving(senders, *, receiver="west", attempt=0, round=0):
    """A hospital that is asked for a sum, and what its machine does."""
    spec, people = wards(north=(9, 9, 9), south=(9, 9, 9), west=(9, 9, 9), east=(9, 9, 9))
    run = played(spec, people)
    host = run.hosts["north"]
    request = host.agreement.question.request(round)
    return host, Received(receiver, Ask(round, attempt, request, 0, senders))


@pytest.mark.parametrize("senders", [("north", "south"), ("east", "north")])
def test_nobody_adds_to_a_sum_without_one_of_the_others(senders):
    """Two sums that differ by a hospital would be its counts."""
    host, asked = serving(senders, attempt=1)
    effects = host.machine.handle(asked)
    assert [type(one) for one in effects] == [Blame]
    assert "over other senders than agreed" in effects[0].reason


def test_who_asks_again_hears_the_same_and_gets_no_other_sum():
    host, _ = serving(("east", "north", "south"))
    request = host.agreement.question.request(0)
    again = AnswerAsk("west", 0, 0, request, ("east", "north", "south"))
    share = host._shares.of("west", 0).closed
    host._exchange.own = [hospital(1, 1, 1), hospital(0, 5, 5)]  # whatever it has now
    assert host.run(again).payload == share
    with pytest.raises(RemoteProtocolError, match="after one of this round was opened"):
        host.run(AnswerAsk("west", 0, 1, request, ("north", "south")))


def test_who_asks_for_another_sum_than_the_rounds_gets_none():
    host, _ = serving(("east", "north", "south"))
    gathering = Gathering.of(b"s" * 32, 1, "west", ("east", "north", "south"))
    exchange, question = host._exchange, host.agreement.question
    for request in (exchange.asking(0), question.request(1), question.request(1) + b"c" * 32):
        with pytest.raises(RemoteProtocolError, match="another round, or of other cells"):
            exchange.share(request, gathering, None, None, None)
    with pytest.raises(RemoteProtocolError, match="another sum than agreed"):
        exchange.told(question.request(1), "west")


# --- a hospital that lies ---

RARE = {"north": (20, 20, 1), "south": (20, 20, 0), "west": (20, 20, 0), "east": (20, 20, 0)}


def claiming(amount):
    """Says yes of ward C so often."""

    def lie(receiver, round, numbers):
        if round == 0:
            numbers[FIRST_WARD + 2] = amount
        return numbers

    return lie


@pytest.mark.parametrize("amount", [1, 2, 3])
def test_no_lie_makes_a_hospital_send_a_cell_in_which_it_has_too_few(amount):
    spec, people = wards(**RARE)
    run = played(spec, people, lies={"east": claiming(amount)})
    for name, host in run.hosts.items():
        groups = [group for rule in host._exchange.allowed for group in rule.groups]
        assert groups, name
        assert host.added(1)[FIRST_WARD + 2] == 0
    assert opened(run, "east")[1][FIRST_WARD + 2] == 0


def test_where_fewer_than_all_decide_a_liar_finds_a_single_patient():
    """The attack that the setting of all hospitals stands against: one says yes for three."""
    spec, people = wards(**RARE)
    run = played(spec, people, lies={"east": claiming(3)}, hospitals=3)
    assert opened(run, "east")[1][FIRST_WARD + 2] == 1


@pytest.mark.parametrize("amount", [-1.0, 4.0])
def test_what_nobody_could_have_said_opens_no_table(amount):
    spec, people = wards(**RARE)
    run = played(spec, people, lies={"east": claiming(amount)}, hospitals=3)
    assert run.hosts["north"]._exchange.allowed is None
    assert run.hosts["north"].description() is None
    assert any("north opened no sum" in one for one in run.problems)
    assert len(opened(run, "east")) == 1  # the liar gets no counts of those whom it lied to


def test_hospitals_that_were_told_different_things_add_up_to_noise():
    """A liar tells north that ward C is common, and south that it is not: their counts would stand
    beside each other. Masks are bound to what was decided, so no sum of them opens for anybody."""

    def lie(receiver, round, numbers):
        if round == 0 and receiver == "south":
            numbers[FIRST_WARD + 2] = 0
        return numbers

    spec, people = wards(north=(20, 20, 9), south=(20, 20, 9), west=(20, 20, 9), east=(20, 20, 9))
    run = played(spec, people, lies={"east": lie})
    layouts = {
        name: rules.layout_of(host._exchange.allowed).hex() for name, host in run.hosts.items()
    }
    assert len({layouts[name] for name in ("north", "south")}) == 2
    assert all(len(host.notes.released) == 1 for host in run.hosts.values())
    sessions = {run.hosts[name]._bound_to(1) for name in ("north", "south")}
    assert len(sessions) == 2  # masks are of these


def test_who_sends_zeros_learns_no_more_than_who_takes_out_its_own():
    """Of every cell that is told the others have six patients or more."""
    spec, people = wards(north=(4, 20, 3), south=(30, 3, 4), west=(9, 9, 9))
    run = played(spec, people, lies={"west": lambda _, round, numbers: (1 - round) * numbers})
    told = opened(run, "west")[1]
    assert told[told > 0].min() > rules.FEWEST_PATIENTS
    honest = opened(played(spec, people), "west")[1]
    np.testing.assert_array_equal(told, honest)


# --- two tables ---


def test_two_tables_that_differ_tell_their_difference_and_hospitals_know(tmp_path):
    """One patient of the north is new. Each table alone hides it; one less the other is it."""
    spec, first = wards(north=(20, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    _, then = wards(north=(21, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    ledger = tmp_path / "described.json"
    told, unprotected = described(spec, first, ledger=ledger), described(spec, then)
    gone = [shown(unprotected, one) - shown(told, one) for one in "ABC"]
    assert sorted(gone) == [0, 0, 1]  # the attack: the new patient's ward
    before = ledger.read_bytes()
    with pytest.raises(LedgerError, match="may be a single patient") as refused:
        described(spec, then, ledger=ledger)
    assert refused.value.where == "north"
    assert ledger.read_bytes() == before  # nobody noted anything, so nothing left
    by_other_rules = spec.model_copy(
        update={"columns": (CategoricalColumn(name="ward", levels=("A", "C", "B")),)}
    )
    with pytest.raises(LedgerError, match="by other rules"):
        described(by_other_rules, first, ledger=ledger)


def test_a_hospital_that_leaves_is_not_the_difference_of_two_tables(tmp_path):
    """Whoever is left is asked by two projects; the one with the hospital, less the one without."""
    counts = {"north": (20, 20, 9), "south": (30, 9, 20), "west": (9, 30, 20), "east": (7, 11, 5)}
    spec, four = wards(**counts)
    three = {name: one for name, one in four.items() if name != "east"}
    attack = [
        shown(described(spec, four), one) - shown(described(spec, three), one) for one in "ABC"
    ]
    assert attack == [7, 11, 5]
    ledger = tmp_path / "described.json"
    described(spec, four, ledger=ledger)
    with pytest.raises(LedgerError, match="with other hospitals"):
        described(spec, three, ledger=ledger)


def test_the_same_hospitals_do_not_tell_other_cells_a_second_time(tmp_path):
    """A liar that keeps back one cell in one project and another in the next would find what both
    hide: 'others' of one table less what the other tells."""
    spec, people = wards(north=(20, 20, 1), south=(30, 9, 0), west=(9, 30, 20))
    run = played(spec, people)
    told, ledger = run.hosts["north"].telling, ToldFile(tmp_path / "told.json", "north")
    assert told.layout
    ledger.note(told)
    ledger.note(told)  # the same again
    other = rules.layout_of((rules.TellableVariable(((0,),)),) * 2).hex()
    host = run.hosts["north"]
    host._ledger = ledger
    host._exchange.allowed = (rules.TellableVariable(((0,),)),) * 2
    assert host.telling.layout == other
    gathering = Gathering.of(host._bound_to(1), 1, "west", ("north", "south"))
    request = host._exchange.asking(1)
    with pytest.raises(LedgerError, match="of other cells"):
        host._masked_answer(AnswerAsk("west", 1, 0, request, gathering.senders), gathering)


def test_the_same_table_again_costs_nothing_and_another_is_counted(tmp_path):
    spec, first = wards(north=(20, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    _, then = wards(north=(21, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    ledger = tmp_path / "described.json"
    told, noted = described(spec, first, ledger=ledger), ledger.read_bytes()
    shuffled = {
        name: one.take(np.random.default_rng(1).permutation(len(one)))
        for name, one in first.items()
    }
    same = described(spec, shuffled, ledger=ledger)
    assert ledger.read_bytes() == noted
    assert same.rows == told.rows
    described(spec, then, ledger=ledger, again=True)
    now = json.loads(ledger.read_text())
    assert [now[name]["descriptions"] for name in ("north", "south")] == [2, 1]
    assert now["north"]["numbers"] == 2 * told.numbers == 2 * now["south"]["numbers"]


def test_a_ledger_that_cannot_be_read_lets_nothing_out(tmp_path):
    spec, people = wards(north=(20, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    ledger = tmp_path / "described.json"
    ledger.write_text('{"north": ')
    with pytest.raises(StorageError, match="cannot be read"):
        described(spec, people, ledger=ledger)
    assert ledger.read_text() == '{"north": '


# --- what is counted, and who works together ---


def test_everybody_opens_the_same_table_and_nobody_more_than_is_counted():
    spec = TableSpec(
        columns=(NumericColumn(name="age", low=0, high=1),),
        target=Target(name="ill", groups=(("0",), ("1",))),
    )
    rng = np.random.default_rng(0)
    people = {
        name: Samples(rng.uniform(-1, 1, (30, 1)), rng.integers(0, 2, 30), 2) for name in "abc"
    }
    run = played(spec, people)
    tables = [host.description() for host in run.hosts.values()]
    for one in tables:
        for row, first in zip(one.rows, tables[0].rows, strict=True):
            assert (row.figure, row.level) == (first.figure, first.level)
            assert row.together == pytest.approx(first.together, abs=1e-6)
    for name in people:
        numbers = sum(len(one) for one in opened(run, name))
        assert numbers == tables[0].numbers
        for student, account in run.hosts[name].machine.ledger.accounts.items():
            assert account.total == numbers, student
    assert tables[0].bits == 32


@pytest.mark.parametrize("colluding", [1, 2])
def test_who_works_together_finds_the_sum_of_the_others_and_no_more(colluding):
    """Of four, t hospitals put together all that they opened and sent. What they hold is the same
    whichever of the others has which patients; all but one together know that one's."""
    counts = {"a": (9, 8, 7), "b": (5, 5, 9), "c": (11, 4, 6), "d": (3, 12, 9)}
    names = list(counts)
    honest = names[colluding:]
    moved = counts | dict(
        zip(honest, [counts[one] for one in (*honest[1:], honest[0])], strict=True)
    )
    views = []
    for given in (counts, moved):
        spec, people = wards(**given)
        run = played(spec, people)
        views.append([opened(run, one) for one in names[:colluding]])
    for one, other in zip(*views, strict=True):
        for round, (first, second) in enumerate(zip(one, other, strict=True)):
            where = slice(FIRST_WARD, None) if round else slice(None)
            np.testing.assert_array_equal(first[where], second[where])
    rest = views[0][0][1][FIRST_WARD:] - np.sum([counts[one] for one in names[1:colluding]], axis=0)
    np.testing.assert_array_equal(rest, np.sum([counts[one] for one in honest], axis=0))


def test_names_and_order_of_hospitals_do_not_change_what_a_ledger_compares():
    spec, people = wards(north=(20, 20, 9), south=(30, 9, 20), west=(9, 30, 20))
    turned = dict(reversed(people.items()))
    one, other = (played(spec, given).hosts["north"].telling for given in (people, turned))
    assert one == other
    assert len(bytes.fromhex(one.rules)) == hashlib.sha256().digest_size
