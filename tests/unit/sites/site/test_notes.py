"""What waits for the row that ends a round or the site; what others see is in tests/security."""

import pytest

from securefair.sites.site.notes import MOST_MISTAKES, end_round, end_site, note
from securefair.storage import Store
from support.town import noted


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


def rows(tx):
    return list(tx.audit.rows())


def test_notes_are_in_the_row_that_ends_their_round_and_in_no_other(store):
    with store.transaction() as tx:
        note(tx, "blame", peer="south", reason="answered nonsense")
        note(tx, "answer", peer="west", numbers=3)
        assert rows(tx) == []
    with store.transaction() as tx:
        end_round(tx, round=4, opened=1, at="now")
        end_round(tx, round=5, opened=0, at="later")
        first, second = rows(tx)
        assert (first.kind, first.facts["round"], first.facts["opened"]) == ("round over", 4, 1)
        assert noted(first.facts) == [
            ("blame", {"peer": "south", "reason": "answered nonsense"}),
            ("answer", {"peer": "west", "numbers": 3}),
        ]
        assert noted(second.facts) == []
        assert first.facts["salt"] != second.facts["salt"]
        tx.audit.verify()


def test_a_peer_that_sends_mistakes_without_end_fills_no_store(store):
    with store.transaction() as tx:
        for at in range(MOST_MISTAKES + 7):
            note(tx, "blame", peer="south", reason=f"mistake {at}")
        note(tx, "answer", peer="south", numbers=10, total=10)
        note(tx, "blame", peer="west", reason="another peer's")
        end_round(tx, round=0, opened=0, at="now")
        (row,) = rows(tx)
        kept = noted(row.facts)
        assert len(kept) == MOST_MISTAKES + 2  # neither is kept out
        assert [kind for kind, _ in kept[-2:]] == ["answer", "blame"]
        assert row.facts["more"] == 7


def test_notes_of_a_transaction_that_failed_are_forgotten(store):
    def fail():
        with store.transaction() as tx:
            note(tx, "blame", peer="south", reason="nothing of it is kept")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with store.transaction() as tx:
        end_round(tx, round=0, opened=0, at="now")
        (row,) = rows(tx)
        assert noted(row.facts) == []


def test_what_is_noted_after_the_last_round_is_in_the_row_of_the_end(store):
    with store.transaction() as tx:
        end_round(tx, round=0, opened=1, at="now")
        note(tx, "answer", peer="west", numbers=3)
        end_site(tx, at="later")
        end_site(tx, at="much later")
        _, first, second = rows(tx)
        assert first.kind == second.kind == "closed"
        assert noted(first.facts) == [("answer", {"peer": "west", "numbers": 3})]
        assert noted(second.facts) == []
        assert first.facts.keys() == second.facts.keys()
        assert first.facts["salt"] != second.facts["salt"]
