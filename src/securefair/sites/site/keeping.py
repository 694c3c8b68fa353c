"""What a site's store remembers of the participant: its machine, and the pieces of its host.

The keystore hears that the store has gone on, before anything leaves that rests on more than it
remembered: above all what was disclosed.
"""

from __future__ import annotations

from collections.abc import Mapping

from securefair.collaboration.host import Host
from securefair.protocol.stored import encode_memory
from securefair.sites.site.records import HOST
from securefair.storage import Transaction
from securefair.storage.generation import Generation

MACHINE, BLOB = "machine", "machine blob "


class Keeper:
    """Writes a participant after every turn, but for what has not changed.

    Args:
        tx: of the site's store.
        host: of the participant, as the store has it.
        generation: of the store and its keystore.
    """

    def __init__(self, tx: Transaction, host: Host, generation: Generation) -> None:
        self._host, self._ledger = host, host.machine.ledger
        self._generation, self._remembers = generation, False
        self._blobs = set(tx.memory.names(BLOB))
        self._apart: Mapping[bytes, bytes] = {}

    def keep(self, tx: Transaction, *, sends: bool) -> bool:
        """Remember the participant as it is; of use only if the transaction is committed.

        Args:
            tx: of the site's store.
            sends: whether a message leaves with it.

        Returns:
            Whether the keystore must hear of it: the participant remembers anything else than when
            a message left last.
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
        self._remembers = self._remembers or told or bool(changed)
        if not (sends and self._remembers):
            return False
        self._generation.count(tx)
        self._remembers = False
        return True
