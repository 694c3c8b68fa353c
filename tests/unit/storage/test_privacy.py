"""Budgets: events are kept, composition is an argument, one event is charged once."""

import pytest

from securefair.errors import LedgerError, StorageError
from securefair.storage import Guarantee, PrivacyEvent, Store, add_up

LIMIT = Guarantee(epsilon=2.0, delta=1e-5)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as opened:
        yield opened


def event(reference, epsilon=0.5, delta=1e-6, **details):
    guarantee = Guarantee(epsilon=epsilon, delta=delta)
    return PrivacyEvent(
        reference=reference, mechanism="dp-sgd", guarantee=guarantee, details=details
    )


def test_events_add_up_until_the_budget_is_spent(store):
    with store.transaction() as tx:
        for number in range(4):
            spent = tx.privacy.charge("ann", event(f"fit {number}"), LIMIT)
        assert spent.epsilon == 2.0
        assert spent.delta == pytest.approx(4e-6)
        with pytest.raises(LedgerError, match="does not suffice"):
            tx.privacy.charge("ann", event("fit 4", epsilon=0.01), LIMIT)
        with pytest.raises(LedgerError, match="delta"):
            tx.privacy.charge("bob", event("fit", delta=1e-4), LIMIT)
        assert tx.privacy.budgets() == ["ann"]


def test_an_event_is_charged_once(store):
    once = event("fit", steps=100, multiplier=1.1)
    with store.transaction() as tx:
        tx.privacy.charge("ann", once, LIMIT)
        assert tx.privacy.charge("ann", once, LIMIT) == once.guarantee
        assert tx.privacy.events("ann") == [once]
        with pytest.raises(StorageError, match="one reference"):
            tx.privacy.charge("ann", event("fit", epsilon=0.4), LIMIT)


def test_the_accountant_decides(store):
    def largest(events):
        return max((e.guarantee for e in events), key=lambda g: g.epsilon)

    with store.transaction() as tx:
        for number in range(10):
            tx.privacy.charge("ann", event(f"{number}", epsilon=1.5), LIMIT, compose=largest)
        assert tx.privacy.spent("ann", compose=largest).epsilon == 1.5
        assert tx.privacy.spent("ann").epsilon == 15.0


def test_a_budget_outlives_its_process(tmp_path):
    for number in range(4):
        with Store.open(tmp_path / "s") as store, store.transaction() as tx:
            tx.privacy.charge("ann", event(f"run {number}"), LIMIT)
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        with pytest.raises(LedgerError):
            tx.privacy.charge("ann", event("run 4"), LIMIT)
        assert len(tx.privacy.events("ann")) == 4


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (1, -0.1), (1, 1.5), (float("nan"), 0)])
def test_guarantees_are_in_range(epsilon, delta):
    with pytest.raises(StorageError):
        Guarantee(epsilon=epsilon, delta=delta)


def test_nothing_amounts_to_nothing():
    assert add_up([]) == Guarantee(epsilon=0.0, delta=0.0)
