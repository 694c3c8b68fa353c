"""What is charged, against finite limits."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.errors import LedgerError, StorageError
from securefair.storage import Amount, LedgerLimits, Store
from support.examples import examples


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as opened:
        yield opened


def test_charges_add_up_by_identity_and_item(store):
    with store.transaction() as tx:
        for identity, item in (("a", "1"), ("a", "2"), ("b", "1"), ("a", "1")):
            amount = Amount(numbers=3, bits=1.5)
            told = tx.ledger.charge("answers", identity, item, amount, LedgerLimits())
        assert told == Amount(numbers=9, bits=4.5)
        assert tx.ledger.spent("answers") == Amount(numbers=12, bits=6.0)
        assert tx.ledger.spent("answers", item="1") == Amount(numbers=9, bits=4.5)
        assert tx.ledger.spent("weights") == Amount()
        rows = [(e.identity, e.item, e.charges, e.amount.numbers) for e in tx.ledger.entries()]
    assert rows == [("a", "1", 2, 6), ("a", "2", 1, 3), ("b", "1", 1, 3)]


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (LedgerLimits(identity_numbers=5), "numbers to one identity"),
        (LedgerLimits(identity_bits=50), "bits to one identity"),
        (LedgerLimits(total_numbers=7), "numbers to all together"),
        (LedgerLimits(total_bits=70), "bits to all together"),
    ],
)
def test_every_limit_refuses_by_its_name_and_charges_nothing(store, limits, named):
    with store.transaction() as tx:
        tx.ledger.charge("answers", "a", "1", Amount(numbers=4, bits=40), limits)
        tx.ledger.charge("answers", "b", "1", Amount(numbers=3, bits=30), limits)
        before = tx.ledger.entries()
        with pytest.raises(LedgerError, match=named):
            tx.ledger.charge("answers", "a", "2", Amount(numbers=2, bits=20), limits)
        assert tx.ledger.entries() == before
        # Another scope has limits of its own.
        tx.ledger.charge("weights", "a", "2", Amount(numbers=2, bits=20), limits)


def test_ten_tenths_make_one(store):
    limits = LedgerLimits(identity_bits=1.0)
    with store.transaction() as tx:
        for _ in range(10):
            tx.ledger.charge("weights", "a", "", Amount(bits=0.1), limits)
        with pytest.raises(LedgerError):
            tx.ledger.charge("weights", "a", "", Amount(bits=0.001), limits)


@pytest.mark.parametrize("amount", [{"numbers": -1}, {"bits": -0.5}, {"bits": math.inf}])
def test_amounts_are_finite_and_not_negative(amount):
    with pytest.raises(StorageError):
        Amount(**amount)


charges = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("12"), st.integers(0, 20)), max_size=30
)


@settings(max_examples=examples(30))
@given(charges, st.integers(0, 60), st.integers(0, 40))
def test_no_order_of_charges_exceeds_a_limit(tmp_path_factory, asked, total, to_one):
    limits = LedgerLimits(total_numbers=total, identity_numbers=to_one)
    permitted = 0
    with Store.open(tmp_path_factory.mktemp("s") / "s") as store:
        for identity, item, numbers in asked:
            try:
                with store.transaction() as tx:
                    tx.ledger.charge("x", identity, item, Amount(numbers=numbers), limits)
                permitted += numbers
            except LedgerError:
                pass
        with store.view() as tx:
            assert tx.ledger.spent("x").numbers == permitted <= total
            assert all(tx.ledger.spent("x", identity=i).numbers <= to_one for i in "abc")


@pytest.mark.parametrize("name", LedgerLimits.__struct_fields__)
@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_what_bounds_nothing_is_no_limit(name, value):
    with pytest.raises(StorageError, match="not a limit"):
        LedgerLimits(**{name: value})
