"""Who is for training and who for testing, where a table is followed by another one.

Rows are known again by marks. Who stays, stays where it was: parts that were drawn anew would
change a third of the training samples, whatever changed in the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from hashlib import blake2b

import numpy as np

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import DataError

MARK_BYTES = 16


def marks_of(samples: Samples, key: bytes) -> Iterator[bytes]:
    """16 bytes a row, by which it is known again, in any order; equal rows have equal ones.

    Args:
        samples: any.
        key: up to 64 bytes, without which nobody can try rows.
    """
    beside = [known for known in (samples.values, samples.weights) if known is not None]
    for at in range(len(samples)):
        digest = blake2b(digest_size=MARK_BYTES, key=key, person=b"sf-row")
        digest.update(np.ascontiguousarray(samples.features[at]).tobytes())
        digest.update(int(samples.labels[at]).to_bytes(8, "big", signed=True))
        for known in beside:
            digest.update(np.ascontiguousarray(known[at]).tobytes())
        yield digest.digest()


def staying(before: ParticipantData, after: ParticipantData, key: bytes) -> ParticipantData:
    """Later samples, of which those that were there before are for the same part as then.

    Args:
        before: its samples until now.
        after: as they were drawn, which decides about those who came.
        key: of the marks.

    Raises:
        DataError: see `placed`.
    """
    trained, tested = (set(marks_of(part, key)) for part in (before.train, before.test))
    whole = after.whole()
    if whole is None:
        return after
    drawn, marks, who = set(marks_of(after.train, key)), list(marks_of(whole, key)), whole.who
    # A new row of somebody who was there before goes where that one is.
    learned, held = (
        {one for one, mark in zip(who.tolist(), marks, strict=True) if mark in part}
        for part in (trained, tested)
    )
    new = {
        mark
        for one, mark in zip(who.tolist(), marks, strict=True)
        if mark not in tested and (one in learned or (one not in held and mark in drawn))
    }
    return placed(after, trained | new, key)


def placed(data: ParticipantData, trained: Collection[bytes], key: bytes) -> ParticipantData:
    """The same samples, but those of these marks are for training, and all others for testing.

    As they are where samples for testing have a table of their own.

    Raises:
        DataError: a part is empty.
    """
    whole = data.whole()
    if whole is None:
        return data
    kept = np.array([mark in trained for mark in marks_of(whole, key)])
    parts = np.flatnonzero(kept), np.flatnonzero(~kept)
    if not all(map(len, parts)):
        raise DataError(
            "nobody is left to train on, or to test on",
            where=data.name,
            found=f"{len(parts[0])} and {len(parts[1])} samples",
            hint="Bring a table of their own for testing: --test-data",
        )
    train, test = (whole.take(rows) for rows in parts)
    train_rows, test_rows = (data.rows[rows] for rows in parts)
    return replace(data, train=train, test=test, train_rows=train_rows, test_rows=test_rows)
