"""What participants agree on before they average models: the public constants of gossip."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.averaging import SumPlan, SumSpec, WeightedSums, get_averaging, plan_sum
from securefair.collaboration.agreement import Agreement
from securefair.collaboration.gossip.alignment import AlignmentPlan, AlignmentSpec, plan_alignment
from securefair.collaboration.wording import data_size, ring_said
from securefair.config import (
    EncryptionSection,
    FairnessSection,
    GossipSection,
    ModelSection,
    TrainingSection,
    defaults,
)
from securefair.errors import ConfigError
from securefair.model.architectures import architecture
from securefair.model.stacked import Stacked
from securefair.protocol.codec import Limits
from securefair.protocol.flows import alignment_bits
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.messages import MAX_NAME_BYTES
from securefair.protocol.settings import MachineSettings, SumSettings
from securefair.worth.mixing import TOPOLOGIES, WEIGHTINGS, Graph, graph_of_edges

Edges = tuple[tuple[str, str], ...]

_LONGEST_NAME = MAX_NAME_BYTES - 5  # the longest prefix of a string in a message


@dataclass(frozen=True, kw_only=True)
class GossipAgreement(Agreement):
    """See `Agreement`; the seed draws the initial network, coins and sketches.

    Sums by `ckks` get log2(parameters) bits of flooding more than `encryption.flooding_bits`, so
    that a whole message and not only each of its coefficients keeps that distance; up to 60 in
    all: beyond that a message keeps less.

    Raises:
        ConfigError: too few participants, two of one name or one too long, or nobody who has
            enough neighbours.
        PlanError: alignment or sums are impossible.
    """

    gossip: GossipSection
    fairness: FairnessSection
    model: ModelSection
    training: TrainingSection
    encryption: EncryptionSection

    def __post_init__(self) -> None:
        super().__post_init__()
        least, names = self.gossip.min_senders, self.participants
        for holds, expected in (
            (len(names) > least, f"more than {least}: so many senders make a sum"),
            (
                all(len(name.encode()) <= _LONGEST_NAME for name in names),
                f"names of {_LONGEST_NAME} bytes at most",
            ),
        ):
            if not holds:
                raise ConfigError(
                    "cannot be agreed on", where="participants", found=names, expected=expected
                )
        if self._neighbours < least:
            raise ConfigError(
                "nobody has enough neighbours, so that no model may ever be averaged",
                where="gossip.topology",
                found=f"{self._topology}: {self._neighbours} at most",
                expected=f"{least} (min_senders)",
            )

    @property
    def network(self) -> str:
        """The name of what everyone averages (`model.architectures`): heads too."""
        return network_of(self.gossip, self.model)

    @property
    def max_sums(self) -> int | None:
        """Rounds in which a neighbour is offered the own model at most; None: any number."""
        return self.gossip.max_sums or None

    @property
    def _neighbours(self) -> int:
        """Most of anybody."""
        return int(self.graph.sum(axis=1).max()) - 1

    @property
    def _topology(self) -> str | Edges:
        return self.gossip.edges or self.gossip.topology

    @cached_property
    def graph(self) -> Graph:
        """Who is beside whom, bool (N, N)."""
        if isinstance(self._topology, str):
            return TOPOLOGIES[self._topology](len(self.participants))
        return graph_of_edges(self.participants, self._topology)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """W (N, N) before the first alignment."""
        return WEIGHTINGS[self.gossip.weighting](self.graph)

    @cached_property
    def stacked(self) -> Stacked:
        """The architecture that all participants share."""
        return Stacked(
            architecture(self.network, self.facts.shape, self.classes),
            dtype=torch.float64,
        )

    @cached_property
    def alignment(self) -> AlignmentPlan:
        """The plan of every alignment."""
        return plan_alignment(
            AlignmentSpec(
                dimension=self.stacked.trained,
                sketch=self.gossip.sketch or None,
                flooding_bits=self.encryption.flooding_bits,
            )
        )

    @property
    def bits_per_alignment(self) -> float:
        """Most that later messages can tell of one opened alignment."""
        return alignment_bits(self.gossip.levels)

    @cached_property
    def sums(self) -> WeightedSums[Any, Any]:
        """How sums are formed."""
        return get_averaging(self.gossip.averaging)

    @cached_property
    def sum_plan(self) -> SumPlan:
        """The plan of every sum."""
        return plan_sum(
            self.gossip.averaging,
            SumSpec(
                parameters=self.stacked.length,
                senders=self._neighbours,
                bound=self.gossip.bound,
                precision=self.gossip.precision,
                flooding_bits=min(
                    defaults.MAX_FLOODING_BITS,
                    self.encryption.flooding_bits + self.stacked.length.bit_length(),
                ),
                max_share=self.gossip.max_share,
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

    @property
    def _planned(self) -> tuple[str, ...]:
        return self.alignment.digest.hex(), self.sum_plan.digest.hex()

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
        ring, name = self.alignment.inner.params.ring_degree, self.gossip.averaging
        hides = self.sums.hides_parameters
        sums = f"{name} sums" if hides else f"MODELS IN THE OPEN (gossip.averaging = {name}): sums"
        return (
            f"{ring_said(self.encryption.backend, ring)} for alignments, {sums} of "
            f"{self.stacked.length} parameters, {data_size(self.sum_plan.share_bytes)} a part"
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
            question=max(
                inner.query_bytes,
                8 * inner.query.count * inner.params.ring_degree,
                sums.request_bytes,
            ),
            answer=max(inner.answer_bytes, sums.share_bytes),
            names=MAX_NAME_BYTES * sums.spec.senders,
        )

    def neighbours_of(self, name: str) -> tuple[str, ...]:
        """Who may be a sender to a participant, in ascending order."""
        row = self.graph[self.participants.index(name)]
        beside = zip(self.participants, row, strict=True)
        return tuple(sorted(peer for peer, linked in beside if linked and peer != name))

    def machine_settings(self, name: str) -> MachineSettings:
        """Settings of the machine of one participant."""
        return MachineSettings(
            collaboration=self.digest,
            protocol=self.facts.protocol,
            forced_every=self.fairness.forced_every,
            always_share=False,
            disclosure=DisclosurePolicy(
                release="alignment",
                classes=self.classes,
                rows=1,
                teacher_parameters=self.stacked.trained,
                fraction_per_version=self.disclosure.fraction,
                student_total=self.disclosure.student_total,
                teacher_total=self.disclosure.teacher_total,
            ),
            round_seconds=self.facts.round_seconds,
            setup_seconds=self.facts.setup_seconds,
            sums=self.sum_settings(name),
            key_bits=self.encryption.key_bits,
            key_openings=self.encryption.key_openings,
        )

    def sum_settings(self, name: str) -> SumSettings:
        """See `Agreement`."""
        neighbours = self.neighbours_of(name)
        return SumSettings(
            name=name,
            senders={peer: self.neighbours_of(peer) for peer in (name, *neighbours)},
            min_senders=self.gossip.min_senders,
            alignment_bits=self.bits_per_alignment,
            told_to_all=self.gossip.max_share is not None,
            max_sums=self.max_sums,
        )


def network_of(gossip: GossipSection, model: ModelSection) -> str:
    """The name of what everyone averages: its own, or that of the head."""
    if gossip.network is not None:
        return gossip.network
    return f"quadratic-head-{model.hidden}" if model.kind == "quadratic" else "linear-head"
