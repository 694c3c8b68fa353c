"""What adaptive sharing saves: real encrypted rounds at each sharing probability.

At probability r every participant holds the reputation r of every peer, for good. All else is an
ordinary run of CYCle: forced rounds, coins, queries, declines, encryption, training with weights
r / (N - 1). So r = 1 is VPDL but for the price of scoring, and at r = 0 only forced rounds
exchange anything, and it has no weight.

Seconds are those of this process's cores, and all runs advance together, one round each in turn:
what else happens on the machine meanwhile counts little, and for all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from securefair.circuit import ExchangePlan, plan_exchange
from securefair.ckks.backends import get_backend, kernels
from securefair.collaboration import PublicFacts
from securefair.collaboration.distillation import DistillationAgreement
from securefair.config import RunConfig
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.profiling import Stopwatch, synthetic
from securefair.profiling.dry_exchange import dry_exchange
from securefair.records import RoundRecord
from securefair.sites.simulation import SimulatedRun
from securefair_lab.profiling.fit import linear_fit
from securefair_lab.profiling.sharing_records import (
    CycleCost,
    SharingCost,
    SharingFits,
    SharingPoint,
    SharingProfile,
    SharingTask,
)
from securefair_lab.profiling.watched import WatchedParticipant, start_watched

ALWAYS, CYCLE = "always", "cycle"
FROM_STUDENT = ("hello", "keys", "features", "ask")
FROM_TEACHER = ("answer", "decline")

UNSPENT = 1e9
"""Bits a key may tell where decisions tell none."""

DECISIONS = 288
"""Coins that straighten the line: fewer, and their luck alone may take R^2 below 0.99."""

MAX_UPLOAD_BYTES = 2 << 30
"""Runs advance together as long as what their teachers keep fits into this."""


def profile_sharing(
    config: RunConfig,
    data: Sequence[ParticipantData],
    probabilities: Sequence[float],
    *,
    seed: int = 0,
    on_round: Callable[[], object] = lambda: None,
) -> SharingProfile:
    """Run at every probability, always sharing (VPDL), and with CYCle's own reputations.

    Args:
        config: model, training, release, encryption and number of rounds.
        data: its participants.
        probabilities: at least two different ones, in [0, 1].
        seed: of models, batches and coins; equal coins at every probability.
        on_round: called after every round of every run, to show progress.

    Raises:
        ConfigError: probabilities out of range or too few, or a release that tells no reputation.
        PlanError: the exchange is impossible.
    """
    _check(probabilities)
    agreed = _agreed(config, data, seed)
    plan = plan_exchange(agreed.spec)
    reputations: dict[str, float | None] = {ALWAYS: None, CYCLE: None}
    reputations |= {_name(r): r for r in probabilities}

    _warm_up(plan, config.encryption.backend)
    finished: dict[str, FinishedSharing] = {}
    for names in _batches(list(reputations), plan, len(data)):
        runs = {name: start_sharing(config, data, name, reputations[name], seed) for name in names}
        rounds = [run.rounds(config.training.rounds, on_round) for run in runs.values()]
        for _ in zip(*rounds, strict=True):
            pass  # every run has advanced by one round
        finished |= {name: run.finished() for name, run in runs.items()}

    always, fixed = finished[ALWAYS].cost, [finished[_name(r)].cost for r in probabilities]
    cycle = finished[CYCLE]
    return SharingProfile(
        task=_task(config, agreed, plan, seed),
        points=[
            SharingPoint(probability=r, **_compared(cost, always))
            for r, cost in zip(probabilities, fixed, strict=True)
        ],
        fit=SharingFits(
            bytes=linear_fit(probabilities, [cost.bytes for cost in fixed]),
            seconds=linear_fit(probabilities, [cost.server_seconds for cost in fixed]),
        ),
        always=always,
        cycle=CycleCost(
            mean_reputation=_mean_reputation(cycle.records), **_compared(cycle.cost, always)
        ),
    )


def enough_rounds(participants: int, forced_every: int) -> int:
    """Rounds in which teachers take DECISIONS sharing decisions by coin."""
    by_coin = -(-DECISIONS // (participants * (participants - 1)))
    if forced_every == 1:
        return by_coin  # no coin is ever thrown
    return by_coin + -(-by_coin // (forced_every - 1))


@dataclass(frozen=True, eq=False)
class FinishedSharing:
    """What is left of a run: keys and uploads are gone."""

    cost: SharingCost
    records: list[RoundRecord]


@dataclass(eq=False)
class SharingRun:
    """A run under way, and what it has cost so far."""

    run: SimulatedRun
    participants: list[WatchedParticipant]
    records: list[RoundRecord] = field(default_factory=list)

    def rounds(self, count: int, on_round: Callable[[], object] = lambda: None) -> Iterator[None]:
        """So many rounds, one after the other."""
        for record in self.run.rounds(count):
            self.records.append(record)
            on_round()
            yield

    def finished(self) -> FinishedSharing:
        """Its cost and its records."""
        sizes: dict[str, int] = {}
        for row in self.run.traffic:
            sizes[row.message] = sizes.get(row.message, 0) + row.bytes
        answers = sum(exchange.answered for exchange in self.run.exchanges)
        cost = SharingCost(
            answers=answers,
            declines=len(self.run.exchanges) - answers,
            problems=len(self.run.problems),
            server_seconds=sum(p.teacher_seconds for p in self.participants),
            student_seconds=sum(p.student_seconds for p in self.participants),
            bytes_up=sum(sizes.get(message, 0) for message in FROM_STUDENT),
            bytes_down=sum(sizes.get(message, 0) for message in FROM_TEACHER),
            bytes_by_message=sizes,
            accuracy=fmean(self.records[-1].accuracy),
        )
        return FinishedSharing(cost, self.records)


def start_sharing(
    config: RunConfig,
    data: Sequence[ParticipantData],
    name: str,
    reputation: float | None,
    seed: int,
) -> SharingRun:
    """A run in which everyone shares by a given probability.

    Args:
        config: model, training, release and encryption.
        data: of everyone.
        name: that records carry; `ALWAYS` for no coins at all.
        reputation: everybody's of everybody; None for what alignments say.
        seed: of models, batches and coins.

    Raises:
        ConfigError: a release that tells no reputation.
        PlanError: the exchange is impossible.
    """
    agreed = _agreed(config, data, seed, always_share=name == ALWAYS)
    if reputation is not None:
        # Coins of a fixed probability tell nothing of an opened value: no key is spent.
        unspent = agreed.encryption.model_copy(update={"key_bits": UNSPENT})
        agreed = replace(agreed, encryption=unspent)
    run, participants = start_watched(
        name,
        data,
        agreed,
        seed=seed,
        reputation=reputation,
        clock=time.process_time,
    )
    return SharingRun(run, participants)


def _agreed(
    config: RunConfig, data: Sequence[ParticipantData], seed: int, *, always_share: bool = False
) -> DistillationAgreement:
    return DistillationAgreement.of(
        config, PublicFacts.of(data), seed=seed, always_share=always_share
    )


def _warm_up(plan: ExchangePlan, backend: str) -> None:
    """One exchange that does not count: it fills caches and starts child processes."""
    engine = get_backend(backend)
    keys = engine.generate_keys(
        plan.params,
        relinearization=plan.relinearization_limbs,
        galois=plan.galois_limbs,
        element=plan.galois_element,
    )
    dry_exchange(synthetic(plan), engine, keys, Stopwatch(), Stopwatch())


def _batches(names: list[str], plan: ExchangePlan, participants: int) -> list[list[str]]:
    """As few groups of runs as memory allows, each with probabilities from the whole range."""
    expanded = 2 * (plan.feature_bytes + plan.basis_bytes)  # seeds become polynomials
    together = max(1, MAX_UPLOAD_BYTES // (expanded * participants * (participants - 1)))
    groups = -(-len(names) // together)
    return [names[at::groups] for at in range(groups)]


def _compared(cost: SharingCost, always: SharingCost) -> dict[str, Any]:
    return {
        **{name: getattr(cost, name) for name in SharingCost.__struct_fields__},
        "saving_bytes": 1 - cost.bytes / always.bytes,
        "saving_seconds": 1 - cost.server_seconds / always.server_seconds,
        "saving_round_bytes": 1 - cost.round_bytes / always.round_bytes,
    }


def _mean_reputation(records: Sequence[RoundRecord]) -> float:
    """Over the rounds in which it decides; over all where every round is forced."""
    deciding = [record for record in records if not record.forced] or records
    reputations = [
        r for record in deciding for row in record.reputation for r in row if r is not None
    ]
    return fmean(reputations)


def _task(
    config: RunConfig, agreed: DistillationAgreement, plan: ExchangePlan, seed: int
) -> SharingTask:
    spec = plan.spec
    return SharingTask(
        data=config.data.source,
        participants=len(agreed.participants),
        samples=spec.samples,
        features=spec.features,
        classes=spec.classes,
        rounds=config.training.rounds,
        forced_every=agreed.fairness.forced_every,
        release=spec.release,
        q=spec.q,
        backend=config.encryption.backend,
        ring_degree=plan.params.ring_degree,
        log_qp=plan.params.log_qp,
        flooding_bits=spec.flooding_bits,
        seed=seed,
        threads=kernels.describe().threads,
    )


def _name(probability: float) -> str:
    return f"r = {probability!r}"


def _check(probabilities: Sequence[float]) -> None:
    for r in probabilities:
        if not 0 <= r <= 1:
            raise ConfigError(
                "not a probability", where="probabilities", found=r, expected="0 to 1"
            )
    if not 2 <= len(probabilities) == len(set(probabilities)):
        raise ConfigError(
            "a line needs different points",
            where="probabilities",
            found=list(probabilities),
            expected="at least two, all different",
        )
