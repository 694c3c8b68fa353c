"""How far a store has come, noted in the store and beside its keys.

Whoever puts an old copy of a store back, or deletes it, would begin with a ledger that counts less
than was disclosed. The keystore then knows of more than the store does. Counted are openings in
earnest, and whatever leaves while what the participant must remember changes: a copy that was made
while the site ran is older as soon as something was disclosed. A copy of both goes back together:
that is for the peers to notice.
"""

from __future__ import annotations

import msgspec

from securefair.errors import StorageError
from securefair.storage.keystore import Keystore
from securefair.storage.secret import Secret
from securefair.storage.store import Store, Transaction

GENERATION = "generation"
"""Of the store's memory, and an entry of the keystore."""


def advance(store: Store, keys: Keystore, *, hint: str) -> None:
    """See that a store is no older than its keys, and count its opening in both.

    The store comes first, so that a crash between the two leaves it ahead, which is no fault.

    Args:
        store: open for writing.
        keys: its keystore.
        hint: what to do where it is older.

    Raises:
        StorageError: it is older, or one of the two cannot be written.
    """
    counted = Generation(keys)
    with store.transaction(counted.note) as tx:
        check_newest(tx, keys, where=str(store.folder), hint=hint)
        counted.count(tx)


def check_newest(tx: Transaction, keys: Keystore, *, where: str, hint: str) -> None:
    """See that a store is no older than its keys; nothing is counted.

    Raises:
        StorageError: it is older.
    """
    known, found = known_to(keys), _generation(tx)
    if found < known:
        raise StorageError(
            "this store is older than its keys: it was put back from a backup, or made anew",
            where=where,
            found=f"generation {found}",
            expected=f"at least {known}",
            hint=hint,
        )


class Generation:
    """Counts in a store and then in its keystore, before anybody else sees what was committed.

        with store.transaction(generation.note) as tx:
            tx.outbox.add(...)
            generation.count(tx)

    Args:
        keys: open; None: of a store in memory, which nobody can put back.
    """

    def __init__(self, keys: Keystore | None = None) -> None:
        self._keys = keys
        self._due: int | None = None

    def count(self, tx: Transaction) -> None:
        """One more, in the store; to be called at most once in a transaction."""
        if self._keys is not None:
            self._due = _generation(tx) + 1
            tx.memory.put(GENERATION, str(self._due).encode())

    def note(self) -> None:
        """The same in the keystore, if it was counted.

        Raises:
            StorageError: the keystore cannot be read or written.
        """
        if self._keys is not None and self._due is not None:
            self._keys.put(GENERATION, Secret(str(self._due).encode()), replace=True)
            self._due = None


def known_to(keys: Keystore) -> int:
    """The generation that a keystore knows of; 0 for a new one."""
    return int(keys.get(GENERATION).reveal()) if GENERATION in keys.names() else 0


def accept_older(tx: Transaction, keys: Keystore) -> None:
    """Let a store go on although it is older than its keys: its ledger counts as full from now."""
    tx.memory.put(GENERATION, str(known_to(keys)).encode())


def _generation(tx: Transaction) -> int:
    data = tx.memory.get(GENERATION)
    return 0 if data is None else msgspec.json.decode(data, type=int)
