"""Hospitals add up vectors under masks that cancel: each opens the sum of all the others.

Nobody's own vector is opened by anybody; with three hospitals a sum is over two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.averaging import Gathering, Shares, SumSpec, make_share, open_sum, release
from securefair.averaging.masked import MaskedKeys, MaskedSums
from securefair.errors import LocalProtocolError

Array = NDArray[np.float64]

MOST_PATIENTS = 2.0**24
"""Of a hospital: the largest number that it adds."""
PRECISION = 2.0**-34
"""Of a sum, over that: counts come out whole."""


@dataclass(eq=False)
class Summer:
    """One hospital of a description: its keys for masks, and what it has sent already.

    Attributes:
        name: of the hospital.
        keys: for all its sums.
        shares: its memory: one sum for each receiver and round, and no second one.
    """

    name: str
    keys: MaskedKeys
    shares: Shares


@dataclass(frozen=True)
class Totals:
    """What everybody opened in a round.

    Attributes:
        values: by hospital, the sum over all, its own included.
        bits: that one number may tell.
    """

    values: Mapping[str, Array]
    bits: int


def summers(names: list[str]) -> list[Summer]:
    """Hospitals with fresh keys."""
    sums, plan = _plan(1, len(names))
    return [Summer(name, sums.generate_keys(plan), Shares()) for name in names]


def add_up(
    session: bytes, round: int, people: list[Summer], vectors: Mapping[str, Array]
) -> Totals:
    """One round: everybody asks everybody else, once.

    Args:
        session: 32 bytes, the hash of what is described.
        round: 0 or 1.
        people: all hospitals.
        vectors: by hospital, of one length.

    Raises:
        LocalProtocolError: vectors differ in length.
        ModelError: a number is larger than a sum allows.
    """
    length = len(vectors[people[0].name])
    if any(len(one) != length for one in vectors.values()):
        raise LocalProtocolError("hospitals count different cells", found=length)
    if not length:
        return Totals({one.name: np.empty(0) for one in people}, 0)
    sums, plan = _plan(length, len(people))
    publics = {one.name: one.keys.public for one in people}
    found = {}
    for receiver in people:
        senders = [one for one in people if one is not receiver]
        gathering = Gathering.of(session, round, receiver.name, [one.name for one in senders])
        weights = dict.fromkeys(gathering.senders, 1 / len(senders))
        requests = sums.ask(plan, receiver.keys, gathering, weights)
        closed: dict[str, bytes] = {}
        opening: dict[str, bytes] = {}
        for one in senders:
            others = {name: key for name, key in publics.items() if name != one.name}
            one.shares, closed[one.name] = make_share(
                one.shares,
                sums,
                plan,
                one.keys,
                others,
                gathering,
                one.name,
                requests[one.name],
                vectors[one.name],
            )
        for one in senders:
            one.shares, opening[one.name] = release(one.shares, gathering)
        mean = open_sum(sums, plan, receiver.keys, gathering, closed, opening)
        found[receiver.name] = len(senders) * mean + vectors[receiver.name]
    return Totals(found, 8 * plan.fixed.word_bytes)


def _plan(length: int, hospitals: int) -> tuple[MaskedSums, Any]:
    sums = MaskedSums()
    spec = SumSpec(
        parameters=length, senders=hospitals - 1, bound=MOST_PATIENTS, precision=PRECISION
    )
    return sums, sums.plan(spec)
