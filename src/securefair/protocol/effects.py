"""Inputs and effects: all that passes between a machine and whoever hosts it.

The host feeds inputs one at a time and carries out the effects in their order. It owns the
clock, the channels and the processors; the machine owns the decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from securefair.protocol.jobs import Job, JobResult
from securefair.protocol.messages import DeclineReason, Message
from securefair.protocol.value import Value


class Begin(Value, frozen=True):
    """Begin a round, later than the one before. Who was away may skip those that it missed.

    `coins[k]` in [0, 1) is the sharing coin of this participant as teacher for student k. Rounds
    in which sharing is not left to chance may leave it empty. `teacher_version` names the model
    that answers in this round: equal numbers mean the same weights, and it never falls. `renews`
    says that the own patients changed since the round before: what was encrypted of the earlier
    ones is replaced, under new keys.
    """

    round: int
    coins: Mapping[str, float]
    teacher_version: int
    renews: bool = False


class Received(Value, frozen=True):
    """A message arrived; `sender` is whom the channel authenticated."""

    sender: str
    message: Message


class Done(Value, frozen=True):
    """A job finished with a result of the type that RESULT_OF names."""

    job: Job
    result: JobResult


class Failed(Value, frozen=True):
    """A job could not be carried out; `error` says why, in words a peer may be blamed with.

    `culprit` is the peer whose bytes made it impossible, where the job knows; `doubtful` says that
    only a statistical test speaks against them. `senders` are those of a smaller sum of which a
    part could be given.
    """

    job: Job
    error: str
    culprit: str | None = None
    senders: tuple[str, ...] = ()
    doubtful: bool = False


class Expired(Value, frozen=True):
    """The deadline that SetDeadline asked for has passed."""

    round: int


class Presence(Value, frozen=True):
    """The host finds that a peer is away, or back; nobody waits for a peer that is away."""

    peer: str
    here: bool


class BeganAnew(Value, frozen=True):
    """The host finds that a peer's store was recovered: it forgot what it was told and what it had
    asked, and what was on its way to it is lost."""

    peer: str


class Waited(Value, frozen=True):
    """The host has waited beyond a deadline that counts for nothing: what was asked may be lost."""


Input: TypeAlias = Begin | Received | Done | Failed | Expired | Presence | BeganAnew | Waited


class RoundSummary(Value, frozen=True, kw_only=True):
    """How a round went for one participant as student; every peer tuple in the machine's order.

    asked = opened + declined + failed + missed, each peer in exactly one of them.
    """

    forced: bool
    asked: tuple[str, ...]
    opened: tuple[str, ...]  # answered, decrypted, used in the step
    declined: Mapping[str, DeclineReason]
    failed: tuple[str, ...]  # peer refused, answer not openable, or own preparation failed
    missed: tuple[str, ...]  # not heard of, or not opened, before the deadline
    reputations: Mapping[str, float | None]  # after the round; None: never scored
    step_error: str | None  # why the step failed; the model is then as it was
    offered: tuple[str, ...] = ()  # of a sum: those that were willing, or there, to be in it
    combined: tuple[str, ...] = ()  # those whose answers or models are in it; none: there is none
    lost: tuple[str, ...] = ()  # those that were asked and then sent no part of it in time
    sum_declined: Mapping[str, DeclineReason] = {}  # those of them that said why not
    sum_error: str | None = None  # why all parts were there and yet did not open; stays at home
    doubted: tuple[str, ...] = ()  # a statistical test refused the answer; also of `opened`

    @property
    def overtaken(self) -> bool:
        """Whether most of those who were asked had gone on to a later round."""
        asked = {*self.asked, *self.combined, *self.lost, *self.sum_declined}
        said = {**self.declined, **self.sum_declined}
        stale = sum(reason is DeclineReason.STALE for reason in said.values())
        return 2 * stale > len(asked)


class Send(Value, frozen=True):
    """Send a message to a peer."""

    peer: str
    message: Message


class Run(Value, frozen=True):
    """Run a job and report its end."""

    job: Job


class SetDeadline(Value, frozen=True):
    """Feed Expired(round) when `seconds` have passed from now; useless once the round is over."""

    round: int
    seconds: float


class Blame(Value, frozen=True):
    """A peer violated the protocol; `reason` says what was found and expected."""

    peer: str
    reason: str


class AskedAgain(Value, frozen=True):
    """A peer that began anew asked otherwise what it had asked before; `reason` says what. That is
    no mistake of it, and it gets no second answer."""

    peer: str
    reason: str


class RoundOver(Value, frozen=True):
    """The round has ended for this participant; peers' queries of it are still answered."""

    round: int
    summary: RoundSummary


Effect: TypeAlias = Send | Run | SetDeadline | Blame | AskedAgain | RoundOver
