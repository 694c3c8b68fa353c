"""Labels as people have them, 1 and 2 or "yes" and "no" -> classes numbered from 0, with names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError

MOST = 50
"""Different labels; more are no classes, and are refused where classes are needed."""


def named_classes(
    labels: Sequence[NDArray[Any]], *, at_least: int = 0, everyone: bool = True
) -> tuple[list[NDArray[np.int64]], tuple[str, ...]] | None:
    """Everyone's labels as numbers of classes, and the names of these; None: as they are.

    Whole numbers from 0 without a gap are left, and so is whatever is not one label a sample.

    Args:
        labels: of several data sets, which share their classes.
        at_least: classes that a given model tells apart: whole numbers below it are its classes.
        everyone: whether there are no other data sets, which may have the numbers that lack here.

    Raises:
        DataError: some number two classes 0 and 1, others 1 and 2; or two names differ in case or
            white space only.
    """
    flat = [one.reshape(-1) for one in labels]
    if not all(len(one) and one.size == len(one) for one in labels):
        return None
    named = [one.dtype.kind in "OUS" for one in flat]
    if any(named) and not all(named):
        return None  # one says 0 and 1, another "no" and "yes": nobody knows which is which
    if all(named):
        texts = [np.array([str(label) for label in one.tolist()]) for one in flat]
    else:
        if at_least != 3:
            refuse_two_numberings([set(one.tolist()) for one in flat])
        known = np.unique(np.concatenate(flat))
        whole = np.isfinite(known).all() and (known == np.rint(known)).all()
        # 0 and 5 are codes of two classes, not six classes of which four occur nowhere.
        whole_row = known[0] < 0 or len(known) == known[-1] + 1
        numbers = 0 in known and (whole_row or not everyone)
        if not whole or numbers or (known[0] >= 0 and known[-1] < at_least):
            return None
        texts = [one.astype(np.int64) for one in flat]
    found = np.unique(np.concatenate(texts))
    if len(found) > MOST:
        return None
    if all(named):
        _refuse_two_spellings([str(one) for one in found.tolist()])
    names = tuple(str(name) for name in found.tolist())
    return [np.searchsorted(found, one).astype(np.int64) for one in texts], names


def _refuse_two_spellings(names: Sequence[str]) -> None:
    """Refuse "ill" beside "Ill ": two names of one class would be two classes."""
    spelt: dict[str, str] = {}
    for name in names:
        other = spelt.setdefault(" ".join(name.split()).casefold(), name)
        if other != name:
            raise DataError(
                "two names of classes differ in case or white space only",
                where="labels",
                found=f"{other!r} and {name!r}",
                expected="one spelling everywhere",
            )


def refuse_two_numberings(codes: Sequence[Collection[object]], where: str | None = None) -> None:
    """Refuse classes 0 and 1 at some and 1 and 2 at others: three classes, or two counted twice.

    Args:
        codes: the different labels of each.
        where: that they stand.

    Raises:
        DataError: they are these.
    """
    numbered = {frozenset(str(one).removesuffix(".0") for one in each) for each in codes}
    if numbered == {frozenset("01"), frozenset("12")}:
        raise DataError(
            "some number the classes 0 and 1, others 1 and 2",
            where=where,
            expected="the same numbers everywhere",
            hint="If there are three classes, say so: table.classes (--class of securefair new) or "
            "Samples(features, labels, classes=3)",
        )
