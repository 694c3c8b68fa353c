"""How often a store was opened in earnest, noted in the store and beside its keys.

Whoever puts an old copy of a store back, or deletes it, would begin with a ledger that counts less
than was disclosed. The keystore then knows of more openings than the store does. A copy of both
goes back together: that is for the peers to notice.
"""

from __future__ import annotations

from securefair.errors import StorageError
from securefair.storage.keystore import Keystore
from securefair.storage.secret import Secret
from securefair.storage.store import Store, Transaction

GENERATION = "generation"
"""Of the store's memory, and an entry of the keystore."""


def advance(store: Store, keys: Keystore, *, hint: str) -> None:
    """See that a store is no older than its keys, and count one opening in both.

    The store comes first, so that a crash between the two leaves it ahead, which is no fault.

    Args:
        store: open for writing.
        keys: its keystore.
        hint: what to do where it is older.

    Raises:
        StorageError: it is older, or one of the two cannot be written.
    """
    known = known_to(keys)
    with store.transaction() as tx:
        found = _generation(tx)
        if found < known:
            raise StorageError(
                "this store is older than its keys: it was put back from a backup, or made anew",
                where=str(store.folder),
                found=f"opened {found} times",
                expected=f"at least {known}",
                hint=hint,
            )
        tx.memory.put(GENERATION, str(found + 1).encode())
    keys.put(GENERATION, Secret(str(found + 1).encode()), replace=True)


def known_to(keys: Keystore) -> int:
    """Openings that a keystore knows of; 0 for a new one."""
    return int(keys.get(GENERATION).reveal()) if GENERATION in keys.names() else 0


def accept_older(tx: Transaction, keys: Keystore) -> None:
    """Let a store go on although it is older than its keys: its ledger counts as full from now."""
    tx.memory.put(GENERATION, str(known_to(keys)).encode())


def _generation(tx: Transaction) -> int:
    data = tx.memory.get(GENERATION)
    return 0 if data is None else int(data)
