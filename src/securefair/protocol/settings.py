"""What a machine must know before it starts; the same for every participant but the policy."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.protocol.flows import OFFER_BITS, QUERY_BITS, REPLY_BITS
from securefair.protocol.guarantee import StatedGuarantee
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.messages import (
    COLLABORATION_BYTES,
    PROTOCOL_VERSION,
    SPOKEN,
)

EVER = 1 << 31
"""Rounds, more than any collaboration has."""


@dataclass(frozen=True, kw_only=True)
class SumSettings:
    """What a machine needs to ask for sums, and to answer who asks for them.

    Args:
        name: of this participant, as it stands in lists of senders.
        senders: everybody who is agreed to be a sender to a receiver, in ascending order: of the
            sums that this participant asks for, under its own name, and of every receiver that it
            is a sender to. Keys go to all peers, since senders of one sum need not be neighbours
            of each other.
        min_senders: fewest senders of a sum that it asks for, or has a share in; 1 only where
            every sender's share may be opened by itself.
        missing: agreed senders that a sum may be without; None: any, as long as enough are left.
        averages: models are averaged: neighbours compare gradients, take their own step, and offer
            their models before a sum is asked for. Without, everybody is asked at once.
        alignment_bits: of opened values, that an opened alignment may tell (`flows`).
        told_to_all: weights that follow from an alignment are shown to all neighbours, and not
            only to the one that it is with.
        max_sums: rounds in which a neighbour is offered the own model at most; None: all.
        recovers: senders can open the parts of others together (`spare`).

    Raises:
        ConfigError: a sender is doubled, or is the receiver; receivers are not those that this
            participant asks; or a number is out of range.
    """

    name: str
    senders: Mapping[str, tuple[str, ...]]
    min_senders: int = defaults.MIN_SENDERS
    missing: int | None = None
    averages: bool = True
    alignment_bits: float = 0.0
    told_to_all: bool = False
    max_sums: int | None = None
    recovers: bool = False

    def __post_init__(self) -> None:
        if self.min_senders < 1:
            raise ConfigError(
                "out of range", where="min_senders", found=self.min_senders, expected="1 or more"
            )
        if self.max_sums is not None and self.max_sums < 1:
            raise ConfigError(
                "out of range", where="max_sums", found=self.max_sums, expected="1 or more"
            )
        if self.missing is not None and self.missing < 0:
            raise ConfigError(
                "out of range", where="missing", found=self.missing, expected="0 or more"
            )
        for receiver, senders in self.senders.items():
            if receiver in senders or list(senders) != sorted(set(senders)):
                raise ConfigError(
                    "senders must be different peers of their receiver, in ascending order",
                    where=f"senders[{receiver}]",
                    found=senders,
                )
        if set(self.senders) != {self.name, *self.neighbours}:
            raise ConfigError(
                "whoever is a sender to this participant must be a receiver of it",
                where="senders",
                found=sorted(self.senders),
                expected=sorted({self.name, *self.neighbours}),
            )

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The peers that it exchanges models or answers with: its agreed senders."""
        return self.senders.get(self.name, ())

    def fewest(self, receiver: str) -> int:
        """Fewest senders of a sum for a receiver: all that were agreed on but `missing`."""
        if self.missing is None:
            return self.min_senders
        return max(self.min_senders, len(self.senders.get(receiver, ())) - self.missing)

    def spare(self, receiver: str, senders: Sequence[str]) -> int:
        """How many keys of a sum over these may fail to come.

        As many as may be missing, where nobody is so far: if a sum over fewer could spare some as
        well, it and the first would open together where fewer senders cheat than is stated.
        """
        agreed = self.senders.get(receiver, ())
        if not self.recovers or self.missing is None or tuple(senders) != agreed:
            return 0
        return len(agreed) - self.fewest(receiver)


@dataclass(frozen=True, kw_only=True)
class MachineSettings:
    """Settings of one participant's machine.

    Args:
        collaboration: 32-byte hash of every public constant; peers with another are refused.
        protocol: version that this collaboration speaks; peers that speak another are refused.
        forced_every: R. In rounds t with t mod R = 0 every peer is asked, every query is
            answered (the ledger permitting) and reputations are updated.
        always_share: VPDL. Every reputation is 1 for ever, nothing is scored, every query is
            answered (the ledger permitting).
        disclosure: what this participant releases as teacher, and how much of it at most.
        round_seconds: deadline of a round, from its beginning to the step.
        setup_seconds: added to the deadline of the first round, which starts with the keys, and to
            that of the last keys of a sum.
        sums: of answers that are opened only in a sum; None: each is opened by itself.
        needs_keys: whether peers need each other's keys before anybody is asked. Without, a
            question brings all that its answer needs, and the host counts what that discloses.
        guarantee: to the patients behind its own answers, told to every peer; None: none.
        required: the least that a peer must promise to take part; None: nothing.
        asked: peers that this participant asks, where it distils; None: all.
        answered: peers that it answers; None: all.
        key_bits: most bits of opened values that control messages tell one peer under one key
            (`flows`), whatever is opened; None: any.
        key_openings: most answers of one peer that are opened under one key, where a model learns
            from them; None: any. `key_rounds` follows from both.
        keep_rounds: for how many past rounds the answers are kept, to repeat them unchanged
            when a query is repeated. Older queries are declined as stale.

    Raises:
        ConfigError: an argument is out of range.
    """

    collaboration: bytes
    forced_every: int
    always_share: bool
    disclosure: DisclosurePolicy
    round_seconds: float
    setup_seconds: float = 0.0
    guarantee: StatedGuarantee | None = None
    required: StatedGuarantee | None = None
    asked: tuple[str, ...] | None = None
    answered: tuple[str, ...] | None = None
    keep_rounds: int = 1
    sums: SumSettings | None = None
    needs_keys: bool = True
    key_bits: float | None = None
    key_openings: int | None = None
    protocol: int = PROTOCOL_VERSION

    def __post_init__(self) -> None:
        checks: tuple[tuple[str, object, bool, str], ...] = (
            (
                "collaboration",
                f"{len(self.collaboration)} bytes",
                len(self.collaboration) == COLLABORATION_BYTES,
                f"{COLLABORATION_BYTES} bytes",
            ),
            (
                "protocol",
                self.protocol,
                self.protocol in SPOKEN,
                " or ".join(map(str, sorted(SPOKEN))),
            ),
            ("forced_every", self.forced_every, self.forced_every >= 1, ">= 1 round"),
            (
                "round_seconds",
                self.round_seconds,
                0 < self.round_seconds < math.inf,
                "a positive number of seconds",
            ),
            (
                "setup_seconds",
                self.setup_seconds,
                0 <= self.setup_seconds < math.inf,
                ">= 0 seconds",
            ),
            ("keep_rounds", self.keep_rounds, self.keep_rounds >= 0, ">= 0 rounds"),
            (
                "key_openings",
                self.key_openings,
                self.key_openings is None or self.key_openings >= 1,
                ">= 1 answer",
            ),
        )
        for where, found, holds, expected in checks:
            if not holds:
                raise ConfigError("out of range", where=where, found=found, expected=expected)
        if self.key_bits is not None and not self.key_bits >= self.round_bits:
            raise ConfigError(
                "out of range",
                where="key_bits",
                found=self.key_bits,
                expected=f">= {self.round_bits:.2f} bits, which a round may tell",
            )

    @property
    def round_bits(self) -> float:
        """Most bits of opened values that the control messages of one round tell one peer."""
        return self.most_bits(1)

    def most_bits(self, rounds: int) -> float:
        """Most bits of opened values that so many rounds in a row tell one peer.

        Replies count in every round: in a forced one an answer may fail, and say so.
        """
        sums = self.sums
        forced = math.ceil(rounds / self.forced_every)
        if sums is None:
            periods = 1 + math.ceil((rounds - 1) / self.forced_every)
            return REPLY_BITS * rounds + (0 if self.always_share else QUERY_BITS * periods)
        alignments = len(sums.neighbours) if sums.told_to_all else 1
        compared = forced * (REPLY_BITS + alignments * sums.alignment_bits)
        return OFFER_BITS * rounds + (compared if sums.averages else 0)

    @cached_property
    def key_rounds(self) -> int | None:
        """Rounds after which everybody makes new keys; None: one serves for ever.

        So many that neither limit is exceeded, whatever is opened in them. It follows from what was
        agreed on and from nothing else: keys that were renewed when they are spent would tell
        everybody how much somebody was told.
        """
        most = EVER if self.key_openings is None else min(EVER, self.key_openings)
        if self.key_bits is not None:
            most = bisect_right(range(1, most + 1), self.key_bits, key=self.most_bits)
        return None if most == EVER else most

    def free(self, round_number: int) -> bool:
        """Whether everyone is asked and answered in this round, so that doing so tells nothing."""
        return self.always_share or self.forced(round_number)

    def forced(self, round_number: int) -> bool:
        """Whether every peer is asked and answered in this round."""
        return round_number % self.forced_every == 0

    def scored(self, round_number: int) -> bool:
        """Whether opened answers update reputations in this round."""
        return self.forced(round_number) and not self.always_share

    def asks(self, peer: str, round_number: int) -> bool:
        """Whether this peer may be asked for an answer by itself: of neighbours only to align."""
        if self.sums is None:
            return self.asked is None or peer in self.asked
        due = self.sums.averages and self.forced(round_number)
        return due and peer in self.sums.neighbours

    def answers(self, peer: str, round_number: int) -> bool:
        """Whether this peer may ask for an answer by itself in this round at all."""
        if self.sums is None:
            return self.answered is None or peer in self.answered
        return self.asks(peer, round_number)

    def most_replies(self, peer: str) -> int:
        """Replies that this peer may be owed at once: to all that it may ask in a round, for as
        many rounds as replies are kept.

        In a round it may ask for an answer by itself; for a sum, as often as that can lose a
        sender; for the key, and for parts of others' keys. Whoever asks about a round has ended
        those before it, and takes nothing more of them.
        """
        return self._owed(self.answers(peer, 0) + self._asked_for_sum(peer))

    def most_questions(self, peer: str) -> int:
        """Questions that this peer may leave unread before it is asked no more: of as many rounds
        as replies are kept."""
        sums = self.sums
        summed = (
            0 if sums is None or peer not in sums.neighbours else self._asked_for_sum(sums.name)
        )
        return self._owed(self.asks(peer, 0) + summed)

    def _owed(self, in_round: int) -> int:
        return (1 + self.keep_rounds) * max(1, in_round)

    def _asked_for_sum(self, receiver: str) -> int:
        if self.sums is None or not (senders := self.sums.senders.get(receiver)):
            return 0
        return max(0, 1 + len(senders) - self.sums.fewest(receiver)) + 2

    def uploads_to(self, peer: str) -> bool:
        """Whether this peer needs the own keys and features."""
        return self.asked is None or peer in self.asked

    def imports_from(self, peer: str) -> bool:
        """Whether this participant needs that peer's keys and features."""
        return self.answered is None or peer in self.answered

    @property
    def needs_features(self) -> bool:
        """Whether a peer must upload features before it can be answered."""
        return self.sums is None and self.needs_keys

    @property
    def needs_question(self) -> bool:
        """Whether questions for single answers say anything, so that they must be prepared."""
        return self.disclosure.kind.predictions or not self.needs_keys
