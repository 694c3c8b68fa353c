"""A chain of rows: any change is found, and rows that are missing are."""

import sqlite3

import pytest

from securefair.errors import StorageError
from securefair.storage import AuditHead, Store


@pytest.fixture
def folder(tmp_path):
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        for number in range(5):
            tx.audit.append(
                "answered", {"peer": "b", "numbers": number}, at=f"2026-01-0{number + 1}"
            )
    return tmp_path / "s"


def head_of(folder, known=()):
    with Store.open(folder) as store, store.view() as tx:
        return tx.audit.verify(known)


def change(folder, statement):
    with sqlite3.connect(folder / "store.sqlite") as raw:
        raw.execute(statement)
    raw.close()


def test_a_chain_verifies_and_leads_through_known_heads(folder):
    with Store.open(folder) as store:
        with store.view() as tx:
            known = tx.audit.head()
            assert tx.audit.head_at(known.length) == known
            assert tx.audit.head_at(known.length + 1) is None
            assert tx.audit.head_at(0) == AuditHead(0, bytes(32))
            assert [row.facts["numbers"] for row in tx.audit.rows(3)] == [3, 4]
        with store.transaction() as tx:
            tx.audit.append("stopped", {}, at="later")
    assert head_of(folder, [known]).length == 6


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET at = '2026-01-09' WHERE position = 2",
        "UPDATE audit SET kind = 'answerec' WHERE position = 2",
        """UPDATE audit SET facts = '{"numbers":1,"peer":"b"}' WHERE position = 2""",
        "UPDATE audit SET facts = 'nothing' WHERE position = 2",
        "UPDATE audit SET hash = zeroblob(32) WHERE position = 2",
        "DELETE FROM audit WHERE position = 2",
    ],
)
def test_every_change_is_found(folder, statement):
    change(folder, statement)
    with pytest.raises(StorageError, match="row 2"):
        head_of(folder)


def test_a_cut_is_found_by_who_knows_a_head(folder):
    known = head_of(folder)
    change(folder, "DELETE FROM audit WHERE position >= 3")
    assert head_of(folder).length == 3  # alone, a shorter chain is a chain
    with pytest.raises(StorageError, match="cut off"):
        head_of(folder, [known])


def test_a_chain_made_anew_is_found_by_who_knows_a_head(folder):
    known = head_of(folder)
    with pytest.raises(StorageError, match=f"head of {known.length} rows: .* seen of"):
        head_of(folder, [AuditHead(known.length, bytes(32))])


def test_an_empty_log_is_whole(tmp_path):
    assert head_of(tmp_path / "new").length == 0
