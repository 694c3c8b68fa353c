"""What a receiver makes of closed messages, of their keys, and of parts of keys that do not come.

The rules that senders keep are in `shares`. Where keys can be put together (`recovery`), nothing is
opened before every key is seen to be that of its message, and all masks to be of the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.gathering import Gathering
from securefair.averaging.interface import SumKeys, WeightedSums
from securefair.averaging.recovery import check_known, opens, recovered, taken_apart
from securefair.averaging.shares import KEY_BYTES
from securefair.averaging.spec import SumPlan
from securefair.averaging.streams import crypt
from securefair.errors import LocalProtocolError, RemoteProtocolError

_NONE: Mapping[str, Mapping[str, bytes]] = {}


def open_sum(
    sums: WeightedSums[Any, Any],
    plan: SumPlan,
    keys: SumKeys,
    gathering: Gathering,
    closed: Mapping[str, bytes],
    released: Mapping[str, bytes],
) -> NDArray[np.float64]:
    """sum_j w_j x_j, float64 (parameters,), from closed messages and their keys.

    Raises:
        LocalProtocolError: a message or a key is missing.
        RemoteProtocolError: a message or a key cannot be used.
    """
    return sums.total(plan, keys, gathering, opened_messages(gathering, closed, released))


def opened_messages(
    gathering: Gathering,
    closed: Mapping[str, bytes],
    released: Mapping[str, bytes],
    *,
    spare: int = 0,
    parts: Mapping[str, Mapping[str, bytes]] = _NONE,
) -> dict[str, bytes]:
    """Every sender's message, by name, from closed messages and their keys.

    Args:
        gathering: the sum.
        closed: what every sender sent first.
        released: keys, by sender.
        spare: senders whose keys may be missing.
        parts: of the keys that are missing, by sender and by who gave them.

    Raises:
        LocalProtocolError: a message or a key is missing, or parts of it.
        RemoteProtocolError: a message, a key or a part of one has the wrong length; or, where keys
            may be missing, a key is not that of its message, parts give none, or masks differ.
    """
    beside = {}
    if spare:
        apart = {name: taken_apart(name, message, spare) for name, message in closed.items()}
        closed = {name: message for name, (message, _) in apart.items()}
        beside = {name: rest for name, (_, rest) in apart.items()}
        check_known(gathering, beside)
    together = {
        name: recovered(gathering, name, spare, beside[name], given)
        for name, given in parts.items()
        if name in beside
    }
    released = {**together, **released}
    for what, given in (("message", closed), ("key", released)):
        missing = [name for name in gathering.senders if name not in given]
        if missing:
            raise LocalProtocolError(
                f"the sum lacks a {what}", where=", ".join(missing), hint="Repeat it without them"
            )
    opened = {}
    for name in gathering.senders:
        if len(released[name]) != KEY_BYTES:
            raise RemoteProtocolError(
                "sent a key of the wrong length",
                culprit=name,
                found=f"{len(released[name])} bytes",
                expected=f"{KEY_BYTES} bytes",
            )
        if spare and not opens(gathering, name, beside[name], released[name]):
            raise RemoteProtocolError(
                "sent another key than its part was closed with",
                culprit=name,
                where=f"round {gathering.round}, attempt {gathering.attempt}",
            )
        opened[name] = crypt(closed[name], released[name])
    return opened
