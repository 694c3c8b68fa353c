"""Envelopes in order: kept until acknowledged or handled, numbers never used twice."""

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.errors import StorageError
from securefair.storage import Arrival, Store, schema
from securefair.storage.queues import REMEMBERED
from support.examples import examples


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as opened:
        yield opened


def test_envelopes_stay_until_they_are_acknowledged(store):
    with store.transaction() as tx:
        for number in range(3):
            assert tx.outbox.next_sequence("b") == number
            tx.outbox.add("b", number, b"%d" % number)
        tx.outbox.add("c", 0, b"other")
    with store.transaction() as tx:
        assert tx.outbox.acknowledge("b", 1) == 2
        assert tx.outbox.acknowledge("b", 1) == 0
        assert [tuple(item) for item in tx.outbox.pending("b")] == [("b", 2, b"2")]
        assert [item.stream for item in tx.outbox.pending()] == ["b", "c"]
        assert tx.outbox.streams() == {"b": 3, "c": 1}
        assert tx.outbox.drop("b") == 1
        assert tx.outbox.next_sequence("b") == 3


def test_what_waits_is_known_by_its_mark_and_counted_by_its_kind(store):
    with store.transaction() as tx:
        for number, (kind, mark) in enumerate((("reply", b"1"), ("", None), ("reply", b"2"))):
            tx.outbox.add("b", number, b"%d" % number, kind=kind, mark=mark)
        tx.outbox.add("c", 0, b"other", kind="reply", mark=b"3")
        held = [tx.outbox.holds("b", mark) for mark in (b"1", b"2", b"3")]
        assert (held, tx.outbox.count("b", "reply")) == ([True, True, False], 2)
        assert (tx.outbox.get("b", 1), tx.outbox.get("b", 3)) == (b"1", None)
        assert tx.outbox.first("b") == ("b", 0, b"0")
        tx.outbox.acknowledge("b", 1)
        assert (tx.outbox.holds("b", b"1"), tx.outbox.count("b", "reply")) == (False, 1)
        assert tx.outbox.first("b") == ("b", 2, b"2")
        assert tx.outbox.first("d") is None


def test_wrong_numbers_are_refused(store):
    with store.transaction() as tx:
        for wrong in (1, -1):
            with pytest.raises(StorageError, match="out of order"):
                tx.outbox.add("b", wrong, b"")
        with pytest.raises(StorageError, match="never sent"):
            tx.outbox.acknowledge("b", 0)


def test_arrivals_are_told_apart(store):
    with store.transaction() as tx:
        assert tx.inbox.add("b", 1, b"1") is Arrival.GAP
        assert tx.inbox.add("b", 0, b"0") is Arrival.NEW
        assert tx.inbox.add("b", 0, b"0") is Arrival.REPEATED
        assert tx.inbox.add("b", 0, b"other") is Arrival.CHANGED
        item = tx.inbox.next()
        assert item == ("b", 0, b"0")
        tx.inbox.done(item)
        assert tx.inbox.next() is None
        assert tx.inbox.add("b", 0, b"0") is Arrival.REPEATED  # handled, and remembered
        assert tx.inbox.add("b", 0, b"other") is Arrival.CHANGED
        with pytest.raises(StorageError, match="not there"):
            tx.inbox.done(item)


def test_a_digest_of_what_travelled_is_compared(store):
    with store.transaction() as tx:
        tx.inbox.add("b", 0, b"opened", digest=b"envelope")
        assert tx.inbox.add("b", 0, b"", digest=b"envelope") is Arrival.REPEATED
        assert tx.inbox.add("b", 0, b"opened", digest=b"another") is Arrival.CHANGED


def test_the_first_to_arrive_is_handled_first(store):
    with store.transaction() as tx:
        for stream, number in (("b", 0), ("a", 0), ("b", 1)):
            tx.inbox.add(stream, number, b"")
        order = []
        while (item := tx.inbox.next()) is not None:
            order.append((item.stream, item.sequence))
            tx.inbox.done(item)
    assert order == [("b", 0), ("a", 0), ("b", 1)]


events = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.booleans()), max_size=40)


@settings(max_examples=examples(30))
@given(events)
def test_whatever_arrives_is_handled_once_and_in_order(tmp_path_factory, arrivals):
    handled = {"a": [], "b": []}
    with Store.open(tmp_path_factory.mktemp("s") / "s") as store:
        for stream, number, handle in arrivals:
            with store.transaction() as tx:
                tx.inbox.add(stream, number, b"%d" % number)
                item = tx.inbox.next()
                if handle and item is not None:
                    tx.inbox.done(item)
                    handled[item.stream].append(item.sequence)
                    assert item.payload == b"%d" % item.sequence
    assert all(numbers == list(range(len(numbers))) for numbers in handled.values())


def rows(store, table="received"):
    with store.view() as tx:
        return tx.inbox._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def filled(store, stream, count):
    with store.transaction() as tx:
        for number in range(tx.inbox.next_sequence(stream), count):
            assert tx.inbox.add(stream, number, b"%d" % number) is Arrival.NEW
            tx.inbox.done(tx.inbox.next())


def test_a_store_grows_by_nothing_of_what_was_handled(store):
    """It kept a row an envelope, for ever."""
    for count in (REMEMBERED, REMEMBERED + 1, 4 * REMEMBERED):
        for stream in ("a 0", "b 0"):
            filled(store, stream, count)
        assert (rows(store), rows(store, "inbox")) == (2 * REMEMBERED, 0)
    with store.transaction() as tx:
        assert tx.inbox.forget("a 0") == 0
        tx.outbox.add("a 0", 0, b"")
        assert tx.outbox.forget("a 0") == 1
    assert (rows(store), rows(store, "streams"), rows(store, "outbox")) == (REMEMBERED, 1, 0)


places = st.one_of(st.integers(-4, 4), st.integers(-REMEMBERED - 3, -REMEMBERED + 3))


@settings(max_examples=examples(30))
@given(
    st.integers(0, 3 * REMEMBERED),
    st.lists(st.tuples(places, st.booleans(), st.booleans()), max_size=30),
)
def test_nothing_is_taken_twice_however_far_back_it_is(count, arrivals):
    """As if all were remembered, but for what changed before the newest: it is refused as well."""
    with Store.in_memory() as store:
        filled(store, "a 0", count)
        taken = [b"%d" % number for number in range(count)]
        for place, changed, handled in arrivals:
            number = len(taken) + place
            if number < 0:
                continue
            said = b"other" if changed or number >= len(taken) else taken[number]
            with store.transaction() as tx:
                arrival = tx.inbox.add("a 0", number, said)
                if place > 0:
                    assert arrival is Arrival.GAP
                elif place == 0:
                    assert arrival is Arrival.NEW
                    taken.append(said)
                elif said == taken[number] or place < -REMEMBERED:
                    assert arrival is Arrival.REPEATED
                else:
                    assert arrival is Arrival.CHANGED
                waiting = tx.inbox.next()
                if handled and waiting is not None:
                    tx.inbox.done(waiting)
            assert rows(store) == min(len(taken), REMEMBERED)


def test_a_store_of_before_is_read_and_forgets_what_is_far_back(tmp_path):
    with sqlite3.connect(":memory:") as old:
        for step in schema.MIGRATIONS[:2]:
            old.executescript(step)
        old.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        old.execute("PRAGMA user_version = 3")
        for stream, count in (("a 0", 3 * REMEMBERED), ("b 0", 5)):
            old.execute("INSERT INTO streams VALUES ('in', ?, ?)", (stream, count))
            old.executemany(
                "INSERT INTO received VALUES (?, ?, ?)",
                [(stream, number, b"%d" % number) for number in range(count)],
            )
        old.commit()
        folder = tmp_path / "s"
        folder.mkdir(mode=0o700)
        with sqlite3.connect(folder / "store.sqlite") as there:
            old.backup(there)
        there.close()
    old.close()
    (folder / "store.sqlite").chmod(0o600)
    with Store.open(folder) as store:
        assert rows(store) == REMEMBERED + 5
        with store.transaction() as tx:
            for stream, number, digest, fate in (
                ("a 0", 0, b"0", Arrival.REPEATED),
                ("a 0", 2 * REMEMBERED, b"%d" % (2 * REMEMBERED), Arrival.REPEATED),
                ("a 0", 2 * REMEMBERED, b"other", Arrival.CHANGED),
                ("b 0", 0, b"other", Arrival.CHANGED),
                ("a 0", 3 * REMEMBERED, b"new", Arrival.NEW),
                ("b 0", 5, b"new", Arrival.NEW),
            ):
                assert tx.inbox.add(stream, number, b"", digest=digest) is fate
