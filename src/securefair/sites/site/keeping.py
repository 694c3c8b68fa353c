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
    """

    def __init__(self, tx: Transaction) -> None:
        self._blobs = set(tx.memory.names(BLOB))
        self._apart: Mapping[bytes, bytes] = {}

    def keep(self, tx: Transaction, host: Host) -> bool:
        """Remember the participant as it is; of use only if the transaction is committed.

        Returns:
            Whether it must remember anything else than before: what it disclosed is among it.
        """
        data, apart = encode_memory(host.machine.memory, self._apart)
        self._apart = apart
        tx.memory.put(MACHINE, data)
        named = {BLOB + digest.hex(): value for digest, value in apart.items()}
        for name in named.keys() - self._blobs:
            tx.memory.put(name, named[name])
        for name in self._blobs - named.keys():
            tx.memory.delete(name)
        self._blobs = set(named)
        changed = host.changed()
        for name, piece in changed.items():
            if piece is None:
                tx.memory.delete(HOST + name)
            else:
                tx.memory.put(HOST + name, piece)
        return bool(changed)
