"""The format of what a site stores: a number, and the steps from each to the next.

The store's own tables have a version of their own (`storage.schema`) and follow by themselves. This
is about what sites write into them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from securefair.errors import StorageError
from securefair.storage import Access, Store, Transaction

FIRST = 3
"""The format of the first release, 0.2.0; nothing leads here from those before it."""

STEPS: tuple[Callable[[Transaction], None], ...] = ()
"""`STEPS[n]` turns format FIRST + n into the next one; a released step never changes."""

LATEST = FIRST + len(STEPS)
NAME = "site format"


def format_of(store: Path) -> int:
    """The format of a site's store, which is left as it is; the latest for an empty one.

    Raises:
        StorageError: a newer version of securefair has written it, or one of before 0.2.0; or it
            cannot be read.
    """
    with Store.open(store, access=Access.READ) as opened, opened.view() as tx:
        return _format(tx, str(store))


def check_format(tx: Transaction, where: str) -> None:
    """See that this version can go on with a store.

    Raises:
        StorageError: it is newer or older.
    """
    found = _format(tx, where)
    if found < LATEST:
        raise StorageError(
            "this site was written by an older version of securefair",
            where=where,
            found=f"format {found}",
            expected=f"format {LATEST}",
            hint="`securefair site upgrade` brings it up to date, and keeps a copy",
        )


def note_format(tx: Transaction) -> None:
    """Note the format in a store that is empty still."""
    if tx.memory.get(NAME) is None:
        tx.memory.put(NAME, str(LATEST).encode())


def bring_up_to_date(store: Store) -> None:
    """Take all steps to the latest format, in one transaction.

    Raises:
        StorageError: as `format_of`; nothing was changed then.
    """
    with store.transaction() as tx:
        for step in STEPS[_format(tx, str(store.folder)) - FIRST :]:
            step(tx)
        tx.memory.put(NAME, str(LATEST).encode())


def _format(tx: Transaction, where: str) -> int:
    data = tx.memory.get(NAME)
    found = LATEST if data is None else msgspec.json.decode(data, type=int)
    if found > LATEST:
        raise StorageError(
            "this site was written by a newer version of securefair",
            where=where,
            found=f"format {found}",
            expected=f"format {LATEST} or older",
            hint="Use the newer version; nothing was changed",
        )
    if found < FIRST:
        raise StorageError(
            "this site was written by a version of securefair before 0.2.0",
            where=where,
            found=f"format {found}",
            expected=f"format {FIRST} or newer",
            hint="Only the version that wrote it can export its models; nothing was changed",
        )
    return found
