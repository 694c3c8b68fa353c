"""What must survive a crash: one store a participant, one keystore.

`Store` is a folder with one SQLite file and blobs beside it. Everything that one input changes is
one transaction: the input itself, what the machine remembers, what was charged, what is to be sent.
Nothing leaves before the transaction is committed, so a crash loses nothing that was said and
repeats nothing that was charged:

    with Store.open(folder) as store, store.transaction() as tx:
        tx.memory.put("machine", encoded)
        tx.outbox.add(stream, sequence, envelope)
        tx.audit.append("answered", {"peer": who}, at=now)
    ...                                 # here it is on the disk: send

`Keystore` is one file of named secrets, encrypted under a passphrase that `unlock` finds without a
keyboard: in an argument, in a file, or in a credential of systemd.

Nothing here knows a protocol, a model or a clock: names, times and bytes are arguments.
"""

from securefair.storage.audit import AuditHead, AuditLog, AuditRow, verify_chain
from securefair.storage.keystore import Keystore, KeystoreCost
from securefair.storage.memory import StoredMemory
from securefair.storage.privacy import Guarantee, PrivacyBudget, PrivacyEvent, add_up
from securefair.storage.queues import Arrival, Inbox, Item, Outbox
from securefair.storage.secret import Secret
from securefair.storage.store import Access, Store, Transaction, held_since, running_process
from securefair.storage.unlock import unlock

__all__ = [
    "Access",
    "Arrival",
    "AuditLog",
    "AuditRow",
    "KeystoreCost",
    "Guarantee",
    "AuditHead",
    "Inbox",
    "Item",
    "Keystore",
    "StoredMemory",
    "Outbox",
    "PrivacyBudget",
    "PrivacyEvent",
    "Secret",
    "Store",
    "Transaction",
    "add_up",
    "held_since",
    "running_process",
    "unlock",
    "verify_chain",
]
