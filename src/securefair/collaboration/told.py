"""What a hospital has told in descriptions: two that differ tell their difference.

By other rules a patient moves from one cell to another; of other patients, those are counted who
came or went; with other hospitals, the difference is one that came or left; and where other cells
are told, one that was kept back follows from those that were not. Each description passes by
itself, and one less the other may be a single patient. So a hospital takes part in another one only
where it says so. The same one again tells nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from securefair.errors import LedgerError, StorageError
from securefair.storage.files import locked_folder, write_private

_LOCK_SECONDS = 30.0
"""Two sites of one hospital may run at once."""


class ToldCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Of one hospital; it stays there.

    Attributes:
        rules: digest of the agreed rules of its last description.
        patients: digest of its patients then.
        hospitals: digest of who took part.
        layout: digest of which cells were told; "" before that was decided.
        descriptions: different ones that it took part in.
        numbers: that others opened of sums with its part, in all of them.
    """

    rules: str
    patients: str
    hospitals: str
    layout: str = ""
    descriptions: int = 1
    numbers: int = 0


class TellingLedger(Protocol):
    """Where a hospital notes what it tells, across projects."""

    def note(self, now: ToldCounts) -> None:
        """Note what is about to be told, before anything of it leaves.

        Args:
            now: `numbers` are those of this description alone; `layout` is "" until it is known.

        Raises:
            LedgerError: something else was told before, and nobody agreed to that.
        """
        ...

    def check(self, now: ToldCounts) -> None:
        """Refuse as `note`, and note nothing."""
        ...


class ToldFile:
    """A ledger in a file: by hospital, what it told. The same one serves all projects.

    Args:
        path: of the file, JSON; there or not.
        name: of the hospital.
        again: it agrees to tell what differs from an earlier description.
    """

    def __init__(self, path: Path, name: str, *, again: bool = False) -> None:
        self._path, self._name, self._again = path, name, again

    def note(self, now: ToldCounts) -> None:
        """See `TellingLedger`.

        Raises:
            LedgerError: see there.
            StorageError: the file cannot be read or written; then nothing may be told.
        """
        with locked_folder(self._path.absolute().parent, wait_s=_LOCK_SECONDS):
            known = _read(self._path)
            told = about_to_tell(known.get(self._name), now, where=self._name, again=self._again)
            if known.get(self._name) != told:
                content = msgspec.json.encode({**known, self._name: told})
                write_private(self._path, msgspec.json.format(content, indent=2) + b"\n")

    def check(self, now: ToldCounts) -> None:
        """See `TellingLedger`."""
        known = _read(self._path).get(self._name)
        about_to_tell(known, now, where=self._name, again=self._again)


def about_to_tell(
    known: ToldCounts | None, now: ToldCounts, *, where: str, again: bool
) -> ToldCounts:
    """What a hospital notes before anything leaves.

    Args:
        known: what it told in earlier descriptions.
        now: see `TellingLedger.note`.
        where: its name.
        again: it agrees to tell what differs.

    Raises:
        LedgerError: it told something else before, and does not agree.
    """
    if known is None:
        return now
    changed = [
        what
        for what, one, other in (
            ("by other rules", known.rules, now.rules),
            ("of other patients", known.patients, now.patients),
            ("with other hospitals", known.hospitals, now.hospitals),
            ("of other cells", known.layout, now.layout),
        )
        if one and other and one != other
    ]
    if not changed:
        return msgspec.structs.replace(known, layout=now.layout or known.layout)
    if not again:
        raise LedgerError(
            "two descriptions would tell their difference, which may be a single patient",
            where=where,
            found=f"an earlier one {' and '.join(changed)}",
            expected="the same rules, patients and hospitals",
            hint="--again tells it all the same, and counts it",
        )
    return msgspec.structs.replace(
        now, descriptions=known.descriptions + 1, numbers=known.numbers + now.numbers
    )


def _read(path: Path) -> Mapping[str, ToldCounts]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, ToldCounts])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise StorageError(
            "what was told in earlier descriptions cannot be read",
            where=str(path),
            found=str(error),
            hint="Put the file back as it was: without it nobody knows what was told",
        ) from error
