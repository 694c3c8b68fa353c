"""The rules that a sender keeps, whatever the implementation: once a round, and never two sums.

Sums over sets that differ by one sender differ by that sender's model. So a sender's message
travels closed (encrypted under a key of its own, drawn for it), and only the key opens it:

    receiver                     sender
    request        ------------>
                   <------------ closed share     any number of times, the same bytes
    all arrived    ------------>
                   <------------ key                     for one gathering a (receiver, round)

A sender that is asked again for the same round with fewer senders makes another share under fresh
masks and will never release the key of the earlier attempt. Once it has released a key it gives no
other share to that receiver in that round. A late message of a lost sender is useless:
no sender that went on to another attempt releases the key without which the first sum stays shut.

Where a sum may lose some senders after all shares are there, the others put their keys together
(`recovery`): whoever helps has released its own key of that very sum.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.averaging.gathering import Gathering
from securefair.averaging.interface import SumKeys, WeightedSums
from securefair.averaging.recovery import Divided
from securefair.averaging.spec import SumPlan
from securefair.averaging.streams import crypt
from securefair.errors import RemoteProtocolError
from securefair.protocol.messages import SALT_BYTES

KEY_BYTES = 32
"""AES-256 in counter mode, a fresh key for every message."""


@dataclass(frozen=True)
class Share:
    """What a sender sent for one gathering.

    Attributes:
        gathering: the sum it is for.
        request: what was asked.
        closed: the message, encrypted under `key`, and what follows it where keys are divided.
        key: opens it; leaves the sender at most once a (receiver, round).
        released: the key has left.
        publics: where keys are divided, those of the other senders as they were then, by name.
            Parts of keys follow from them, whatever their owners send later.
    """

    gathering: Gathering
    request: bytes = field(repr=False)
    closed: bytes = field(repr=False)
    key: bytes = field(repr=False)
    released: bool = False
    publics: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Shares:
    """One sender's memory: the last attempt of every (receiver, round) it has a share in.

    Attributes:
        made: by receiver and round.
        floor: the first round that is still open; a sender makes no share for an earlier one, of
            which it may have forgotten what it sent.
    """

    made: Mapping[tuple[str, int], Share] = field(default_factory=dict)
    floor: int = 0

    def of(self, receiver: str, round: int) -> Share | None:
        """The last attempt, None if there was none."""
        return self.made.get((receiver, round))

    def forget(self, before: int) -> Shares:
        """Close the rounds before that one, and free the memory that their messages take."""
        floor = max(before, self.floor)
        left = {at: made for at, made in self.made.items() if at[1] >= floor}
        return Shares(left, floor)

    def having(self, made: Share) -> Shares:
        """With that share instead of an earlier attempt."""
        at = (made.gathering.receiver, made.gathering.round)
        return Shares({**self.made, at: made}, self.floor)


def make_share(
    memory: Shares,
    sums: WeightedSums[Any, Any],
    plan: SumPlan,
    keys: SumKeys,
    publics: Mapping[str, bytes],
    gathering: Gathering,
    sender: str,
    request: bytes,
    vector: NDArray[np.floating],
) -> tuple[Shares, bytes]:
    """The closed message of one sender, and its memory with it.

    The same gathering and request give the same bytes, whatever the vector is by now. The other
    arguments are those of `WeightedSums.message`.

    Raises:
        RemoteProtocolError: the receiver asks for what would let it compare two sums.
        ModelError: see `WeightedSums.message`.
    """
    return share_message(
        memory,
        gathering,
        sender,
        request,
        lambda: sums.message(plan, keys, publics, gathering, sender, request, vector),
    )


def share_message(
    memory: Shares,
    gathering: Gathering,
    sender: str,
    request: bytes,
    make: Callable[[], bytes],
    divided: Divided | None = None,
) -> tuple[Shares, bytes]:
    """As `make_share`, for a message of any kind, made only if it may be.

    Args:
        memory: of the sender.
        gathering: the sum.
        sender: the own name.
        request: what was asked.
        make: the message.
        divided: how other senders are to open it in the sender's place; None: nobody can.

    Raises:
        RemoteProtocolError: the receiver asks for what would let it compare two sums.
    """
    if sender not in gathering.senders:
        raise RemoteProtocolError(
            "asked somebody who is no sender of the sum",
            culprit=gathering.receiver,
            found=sender,
            expected=", ".join(gathering.senders),
        )
    if gathering.round < memory.floor:
        raise RemoteProtocolError(
            "asked for a sum of a round that is over",
            culprit=gathering.receiver,
            found=gathering.round,
            expected=f"{memory.floor} or later",
        )
    before = memory.of(gathering.receiver, gathering.round)
    if before is not None:
        if before.gathering == gathering and before.request == request:
            return memory, before.closed
        _check_repeat(before, gathering)
    message = make()
    if divided is None:
        key = os.urandom(KEY_BYTES)
        made = Share(gathering, request, crypt(message, key), key)
    else:
        key, beside = divided.closing(gathering, request, os.urandom(SALT_BYTES))
        publics = {name: divided.publics[name] for name in gathering.senders if name != sender}
        closed = crypt(message, key) + beside.written()
        made = Share(gathering, request, closed, key, publics=publics)
    return memory.having(made), made.closed


def release(memory: Shares, gathering: Gathering) -> tuple[Shares, bytes]:
    """The key of the message for that gathering, and the memory that it has left.

    Raises:
        RemoteProtocolError: this sender has no share in it, or went on to another attempt.
    """
    made = memory.of(gathering.receiver, gathering.round)
    if made is None or made.gathering != gathering:
        raise RemoteProtocolError(
            "asked for the key of a sum that is not under way",
            culprit=gathering.receiver,
            where=f"round {gathering.round}, attempt {gathering.attempt}",
            expected="nothing" if made is None else f"attempt {made.gathering.attempt}",
        )
    return memory.having(replace(made, released=True)), made.key


def part_for(
    memory: Shares, divided: Divided, gathering: Gathering, owner: str, salt: bytes
) -> bytes:
    """A part of the key of another sender that does not give it, 32 bytes.

    Args:
        memory: of this sender.
        divided: its side; public keys are those of its own share.
        gathering: the sum.
        owner: of the key.
        salt: what follows its closed part, as whoever asks says.

    Raises:
        RemoteProtocolError: this sender has not released its own key of that sum.
    """
    made = memory.of(gathering.receiver, gathering.round)
    if made is None or made.gathering != gathering or not made.released:
        raise RemoteProtocolError(
            "asked for parts of keys before the own one was given",
            culprit=gathering.receiver,
            where=f"round {gathering.round}, attempt {gathering.attempt}",
        )
    return replace(divided, publics=made.publics).part(gathering, made.request, owner, salt)


def _check_repeat(before: Share, gathering: Gathering) -> None:
    """Refuse any second sum of a round but a later attempt with fewer senders, none opened yet."""
    if before.released:
        problem = "asked for another sum after one of this round was opened"
    elif gathering.attempt <= before.gathering.attempt:
        problem = "asked for another sum in the same attempt"
    elif gathering.session != before.gathering.session:
        problem = "repeats a sum of another session"
    elif not set(gathering.senders) < set(before.gathering.senders):
        problem = "repeats a sum with other senders than those left of it"
    else:
        return
    raise RemoteProtocolError(
        problem,
        culprit=gathering.receiver,
        where=f"round {gathering.round}",
        found=f"attempt {gathering.attempt} with {', '.join(gathering.senders)}",
        expected=f"attempt {before.gathering.attempt} with {', '.join(before.gathering.senders)}",
    )
