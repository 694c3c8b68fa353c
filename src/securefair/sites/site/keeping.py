"""What a site's store remembers of the participant: its machine, and the pieces of its host."""

from __future__ import annotations

from collections.abc import Mapping

from securefair.collaboration.host import Host
from securefair.protocol.stored import encode_memory
from securefair.sites.site.records import HOST
from securefair.storage import Transaction

MACHINE, BLOB = "machine", "machine blob "


class Keeper:
    """Writes a participant after every turn, but for what has not changed.

    Args:
        tx: of the site's store.
        host: of the participant, as the store has it.
    """

    def __init__(self, tx: Transaction, host: Host) -> None:
        self._host, self._ledger = host, host.machine.ledger
        self._blobs = set(tx.memory.names(BLOB))
        self._apart: Mapping[bytes, bytes] = {}

    def keep(self, tx: Transaction) -> bool:
        """Remember the participant as it is; of use only if the transaction is committed.

        Returns:
            Whether it must remember anything else than before, above all what it disclosed.
        """
        data, apart = encode_memory(self._host.machine.memory, self._apart)
        self._apart = apart
        tx.memory.put(MACHINE, data)
        named = {BLOB + digest.hex(): value for digest, value in apart.items()}
        for name in named.keys() - self._blobs:
            tx.memory.put(name, named[name])
        for name in self._blobs - named.keys():
            tx.memory.delete(name)
        self._blobs = set(named)
        changed, ledger = self._host.changed(), self._host.machine.ledger
        for name, piece in changed.items():
            if piece is None:
                tx.memory.delete(HOST + name)
            else:
                tx.memory.put(HOST + name, piece)
        told, self._ledger = ledger != self._ledger, ledger
        return told or bool(changed)
