"""What participants agree on before they average models: the public constants of gossip."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from securefair.averaging import SumPlan, SumSpec, WeightedSums, get_averaging, plan_sum
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.gossip.alignment import AlignmentPlan, AlignmentSpec, plan_alignment
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.model.architectures import architecture
from securefair.model.stacked import Stacked
from securefair.protocol.codec import Limits
from securefair.protocol.flows import alignment_bits
from securefair.protocol.ledger import DisclosurePolicy, Release
from securefair.protocol.messages import MAX_NAME_BYTES, PROTOCOL_VERSION
from securefair.protocol.settings import GossipSettings, MachineSettings
from securefair.worth.mixing import TOPOLOGIES, WEIGHTINGS, Graph, graph_of_edges

Edges = tuple[tuple[str, str], ...]

_LONGEST_NAME = MAX_NAME_BYTES - 5  # the longest prefix of a string in a message


@dataclass(frozen=True, kw_only=True)
class GossipAgreement:
    """Public constants of a collaboration that averages; their digest is in the first message.

    Attributes:
        participants: names, in the order of every record.
        shape, classes: of a sample and its label; with `network` the architecture that all share.
        network: its name (`model.architectures`): heads too.
        averaging: how sums are formed: "masked", "ckks", "crypten", or "clear" in the open.
        topology: complete, ring, exponential, or undirected edges between names.
        weighting: weights before the first alignment, uniform or metropolis.
        beta, alpha: sharpness of the softmax, and weight of the old row (`fairness.mixing`).
        forced_every: R, rounds between alignments.
        levels: public values that a similarity is rounded to before it counts
            (`fairness.mixing.rounded`): a weight tells log2(levels) bits of an alignment.
        key_bits: most bits that later messages may tell one peer of opened values under one key;
            then there is a new one (`protocol.flows`).
        key_openings: most alignments with one peer that a key opens; then there is a new one.
        max_sums: rounds in which a neighbour is offered the own model at most; None: all. Many
            sums of one receiver are equations for single models (docs/threat-model.md).
        relative: links as often as weights relative to the best peer say.
        local_epochs, batch_size: own steps of a round; None: full batches.
        bound: largest |parameter|; beyond it training stops with an error.
        precision: largest error of a coordinate of a sum, over the bound.
        min_senders: fewest models in a sum. A receiver that keeps to the weights needs one less
            on its side to take a model out, so more protect better, and average less often.
        max_share: largest part that one sender's weight may be of the weights of all senders of a
            sum, at least 1 / min_senders and below 1; None: any. A receiver that chooses weights
            at will needs ceil(1 / max_share) - 1 senders on its side, or none. Receivers cut what
            exceeds it (`fairness.own_row.limit_shares`); with `masked` senders are shown all
            weights and refuse a sum that does not keep to it, `clear` relies on the receiver,
            others cannot have it.
        sketch: numbers that stand for a gradient in an alignment; None: all of them.
        flooding_bits: of alignments; `ckks` sums get log2(parameters) more, so that a whole
            message and not only each of its coefficients keeps that distance. Up to 60 in all:
            beyond that a message keeps less.
        double: compute in float64 rather than float32.
        round_seconds, setup_seconds: deadline of every phase of a round; for keys, on top.
        seed: public; of the initial network, coins and sketches.

    Raises:
        ConfigError: too few participants, two of one name or one too long, an unknown graph or
            weighting, too little flooding, or nobody who has enough neighbours.
        PlanError: alignment or sums are impossible.
    """

    participants: tuple[str, ...]
    shape: tuple[int, ...]
    classes: int
    network: str
    averaging: str = defaults.AVERAGING
    topology: Literal["complete", "ring", "exponential"] | Edges = defaults.TOPOLOGY
    weighting: Literal["uniform", "metropolis"] = defaults.WEIGHTING
    beta: float = defaults.BETA
    alpha: float = defaults.ALPHA
    forced_every: int = defaults.FORCED_EVERY
    levels: int = defaults.LEVELS
    key_bits: float = defaults.KEY_BITS
    key_openings: int = defaults.KEY_OPENINGS
    max_sums: int | None = defaults.MAX_SUMS
    relative: bool = True
    local_epochs: int = 1
    batch_size: int | None = None
    bound: float = defaults.BOUND
    precision: float = defaults.SUM_PRECISION
    min_senders: int = defaults.MIN_SENDERS
    max_share: float | None = None
    sketch: int | None = defaults.SKETCH
    flooding_bits: int = defaults.FLOODING_BITS
    double: bool = True
    round_seconds: float = defaults.ROUND_SECONDS
    setup_seconds: float = defaults.SETUP_SECONDS
    seed: int = 0

    def __post_init__(self) -> None:
        for where, found, holds, expected in (
            ("topology", self.topology, self._known_topology, ", ".join((*TOPOLOGIES, "edges"))),
            ("weighting", self.weighting, self.weighting in WEIGHTINGS, ", ".join(WEIGHTINGS)),
            ("local_epochs", self.local_epochs, self.local_epochs >= 1, "1 or more"),
            (
                "min_senders",
                self.min_senders,
                self.min_senders >= defaults.MIN_SENDERS,
                f"{defaults.MIN_SENDERS} or more: a sum over one model is that model",
            ),
            (
                "max_share",
                self.max_share,
                self.max_share is None or 1 / self.min_senders <= self.max_share < 1,
                f"1 / {self.min_senders}, which a sum of min_senders cannot do without, or more, "
                "below 1",
            ),
            ("forced_every", self.forced_every, self.forced_every >= 1, "1 or more rounds"),
            ("levels", self.levels, self.levels >= 2, "2 or more"),
            ("max_sums", self.max_sums, self.max_sums is None or self.max_sums >= 1, "1 or more"),
            (
                "flooding_bits",
                self.flooding_bits,
                self.flooding_bits >= defaults.MIN_FLOODING_BITS,
                f"{defaults.MIN_FLOODING_BITS} or more: nobody answers with less",
            ),
            (
                "participants",
                self.participants,
                len(set(self.participants)) == len(self.participants) > self.min_senders,
                f"more than {self.min_senders}, of different names: so many senders make a sum",
            ),
            (
                "participants",
                self.participants,
                all(len(name.encode()) <= _LONGEST_NAME for name in self.participants),
                f"names of {_LONGEST_NAME} bytes at most",
            ),
        ):
            if not holds:
                raise ConfigError(
                    "cannot be agreed on", where=where, found=found, expected=expected
                )
        if self._neighbours < self.min_senders:
            raise ConfigError(
                "nobody has enough neighbours, so that no model may ever be averaged",
                where="topology",
                found=f"{self.topology}: {self._neighbours} at most",
                expected=f"{self.min_senders} (min_senders)",
            )

    @property
    def _neighbours(self) -> int:
        """Most of anybody."""
        return int(self.graph.sum(axis=1).max()) - 1

    @property
    def _known_topology(self) -> bool:
        return not isinstance(self.topology, str) or self.topology in TOPOLOGIES

    @cached_property
    def graph(self) -> Graph:
        """Who is beside whom, bool (N, N)."""
        if isinstance(self.topology, str):
            return TOPOLOGIES[self.topology](len(self.participants))
        return graph_of_edges(self.participants, self.topology)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """W (N, N) before the first alignment."""
        return WEIGHTINGS[self.weighting](self.graph)

    @cached_property
    def stacked(self) -> Stacked:
        """The architecture that all participants share."""
        return Stacked(
            architecture(self.network, self.shape, self.classes),
            dtype=torch.float64 if self.double else torch.float32,
        )

    @cached_property
    def alignment(self) -> AlignmentPlan:
        """The plan of every alignment."""
        return plan_alignment(
            AlignmentSpec(
                dimension=self.stacked.trained,
                sketch=self.sketch,
                flooding_bits=self.flooding_bits,
            )
        )

    @property
    def bits_per_alignment(self) -> float:
        """Most that later messages can tell of one opened alignment."""
        return alignment_bits(self.levels)

    @cached_property
    def sums(self) -> WeightedSums[Any, Any]:
        """How sums are formed."""
        return get_averaging(self.averaging)

    @cached_property
    def sum_plan(self) -> SumPlan:
        """The plan of every sum."""
        return plan_sum(
            self.averaging,
            SumSpec(
                parameters=self.stacked.length,
                senders=self._neighbours,
                bound=self.bound,
                precision=self.precision,
                flooding_bits=min(
                    defaults.MAX_FLOODING_BITS,
                    self.flooding_bits + self.stacked.length.bit_length(),
                ),
                max_share=self.max_share,
            ),
        )

    @cached_property
    def average_error_bound(self) -> float:
        """No coordinate of an average of honest shares is further off.

        Sums are of weights over the number of senders, and then divided by the sum of weights,
        which is at least the smallest own one.
        """
        smallest = float(self.weights.diagonal().min())
        return self.sum_plan.error_bound * max(1.0, self._neighbours / smallest)

    @cached_property
    def digest(self) -> bytes:
        """32 bytes over every constant, both plans and the version of the protocol."""
        facts = {name: value for name, value in vars(self).items() if name in _CONSTANTS}
        plans = self.alignment.digest.hex(), self.sum_plan.digest.hex()
        encoded = msgspec.json.encode((PROTOCOL_VERSION, facts, plans))
        return hashlib.sha256(b"securefair gossip agreement\0" + encoded).digest()

    @property
    def plan_digest(self) -> bytes:
        """See `Agreement`: both plans are in the digest."""
        return self.digest

    @property
    def numbers_a_round(self) -> int:
        """See `Agreement`: an alignment; sums are of several models."""
        return 1

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        inner, sums = self.alignment.inner, self.sum_plan
        return (
            f"ring degree {inner.params.ring_degree} for alignments, {self.averaging} sums of "
            f"{self.stacked.length} parameters, {sums.share_bytes / 1e6:.1f} MB a part"
        )

    def sketch_seed(self, round: int) -> bytes:
        """Public seed of the sketches of one round: errors of different rounds are independent."""
        return json.dumps([self.seed, round]).encode()

    @cached_property
    def limits(self) -> Limits:
        """Most bytes of every field of every message."""
        inner, sums = self.alignment.inner, self.sum_plan
        return Limits(
            public_key=inner.public_key_bytes,
            evaluation_keys=sums.public_key_bytes,
            features=0,
            basis=0,
            predictions=max(inner.query_bytes, 8 * inner.query.count * inner.params.ring_degree),
            answer=inner.answer_bytes,
            sum_request=sums.request_bytes,
            sum_names=MAX_NAME_BYTES * sums.spec.senders,
            share=sums.share_bytes,
        )

    def neighbours_of(self, name: str) -> tuple[str, ...]:
        """Who may be a sender to a participant, in ascending order."""
        row = self.graph[self.participants.index(name)]
        beside = zip(self.participants, row, strict=True)
        return tuple(sorted(peer for peer, linked in beside if linked and peer != name))

    def machine_settings(self, name: str, disclosure: DisclosureLimits) -> MachineSettings:
        """Settings of the machine of one participant."""
        return MachineSettings(
            collaboration=self.digest,
            forced_every=self.forced_every,
            always_share=False,
            disclosure=DisclosurePolicy(
                release=Release.ALIGNMENT,
                classes=self.classes,
                rows=1,
                teacher_parameters=self.stacked.trained,
                fraction_per_version=disclosure.fraction,
                student_total=disclosure.student_total,
                teacher_total=disclosure.teacher_total,
            ),
            round_seconds=self.round_seconds,
            setup_seconds=self.setup_seconds,
            gossip=GossipSettings(
                name=name,
                senders={
                    peer: self.neighbours_of(peer) for peer in (name, *self.neighbours_of(name))
                },
                min_senders=self.min_senders,
                alignment_bits=self.bits_per_alignment,
                told_to_all=self.max_share is not None,
                max_sums=self.max_sums,
            ),
            key_bits=self.key_bits,
            key_openings=self.key_openings,
        )


_CONSTANTS = frozenset(GossipAgreement.__dataclass_fields__)
