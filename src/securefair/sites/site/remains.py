"""What can still be read of a site's store that may be damaged or lost.

What an operator decided must outlive the store: whom the site blocked, and that it left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from securefair.errors import StorageError
from securefair.sites.post.peers import read_peer
from securefair.sites.site.records import LEFT, state_in
from securefair.sites.site.renewing import RENEWALS, taken_in
from securefair.storage import Access, Store, Transaction

_T = TypeVar("_T")


@dataclass(frozen=True)
class Remains:
    """What a store still says.

    Attributes:
        blocked: peers of which the operator wants nothing.
        kept: named values that a store in its place takes over as they are.
        unread: what nobody can say any more, as parts of a sentence; empty of a whole store.
    """

    blocked: tuple[str, ...]
    kept: dict[str, bytes]
    unread: tuple[str, ...]


def remains_of(place: Path, peers: Sequence[str]) -> Remains:
    """Read each of them by itself, as a damaged page need not be theirs; nothing is changed."""
    try:
        with Store.open(place, access=Access.READ) as store:
            return _Reading(store).remains(peers)
    except StorageError:
        return _Reading(None).remains(peers)


class _Reading:
    """Of a store, or of none."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._unread: list[str] = []

    def remains(self, peers: Sequence[str]) -> Remains:
        shut = self._tried(lambda tx: state_in(tx).peers.blocked) or ()
        blocked = tuple(peer for peer in peers if peer in shut or self._blocked(peer))
        kept = {
            LEFT: self._tried(lambda tx: tx.memory.get(LEFT), "whether this site had left"),
            RENEWALS: self._tried(_renewals, "which of its tables it had gone on with"),
        }
        said = {name: data for name, data in kept.items() if data is not None}
        return Remains(blocked, said, tuple(self._unread))

    def _blocked(self, peer: str) -> bool:
        known = self._tried(lambda tx: read_peer(tx, peer), f"whether {peer} was blocked")
        return known is not None and known.blocked

    def _tried(self, read: Callable[[Transaction], _T], what: str = "") -> _T | None:
        try:
            if self._store is not None:
                with self._store.view() as tx:
                    return read(tx)
        except StorageError:
            pass
        if what:
            self._unread.append(what)
        return None


def _renewals(tx: Transaction) -> bytes | None:
    taken_in(tx)  # what cannot be read is not to be carried over
    return tx.memory.get(RENEWALS)
