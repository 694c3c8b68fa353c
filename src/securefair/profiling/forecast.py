"""What a configuration would do: its participants, plan, traffic and disclosure. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from securefair.averaging.contributions import KEY_BYTES
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.collaboration.agreements import (
    agreement_of,
    check_plans,
    collaboration_of,
    limits_of,
    load_participants,
)
from securefair.collaboration.distillation.setup import Collaboration
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.config import RunConfig
from securefair.config.sections import GOSSIP
from securefair.data import ParticipantData
from securefair.model.building import build_model
from securefair.profiling.cost_model import load_model
from securefair.profiling.estimate import Estimate, estimate
from securefair.profiling.planned import PlanReport, report_plan
from securefair.user.tables import resolve, table_spec


class CheckedParticipant(msgspec.Struct, frozen=True, kw_only=True):
    """One participant's samples on the first seed; classes in the order of the labels."""

    name: str
    train: int
    test: int
    by_class: list[int]


class CheckedAlgorithm(msgspec.Struct, frozen=True, kw_only=True):
    """What one algorithm puts on the wire over one seed, all participants together.

    Attributes:
        name: of the algorithm.
        least_answers, most_answers: how many answers are given, by reputation and chance.
        least_bytes, most_bytes: keys and features included, hellos and declines left out.
    """

    name: str
    least_answers: int
    most_answers: int
    least_bytes: int
    most_bytes: int


class CheckedDisclosure(msgspec.Struct, frozen=True, kw_only=True):
    """What a teacher lets out to one student, against what there is to know.

    Attributes:
        student: whose samples the second disclosure bound counts.
        numbers_per_answer: of one version of a teacher's model.
        limit: most numbers of one version; None for no limit.
        numbers_in_run: most over all versions, by the run's rounds and `disclosure.student_total`.
        teacher_parameters: the first disclosure bound.
        student_logits: the second: samples times classes.
        permitted: whether teachers would answer at all.
    """

    student: str
    numbers_per_answer: int
    limit: int | None
    numbers_in_run: int
    teacher_parameters: int
    student_logits: int
    permitted: bool


class CheckedSums(msgspec.Struct, frozen=True, kw_only=True):
    """What is agreed on where models are averaged.

    Attributes:
        averaging, hides_weights, hides_parameters: of the implementation.
        network, parameters: what everyone shares.
        edges: pairs of neighbours.
        min_senders: fewest models of a sum.
        max_share: largest part of its weights that one sender may have; None for any.
        query_bytes, answer_bytes: of an alignment.
        request_bytes, contribution_bytes: of a part of a sum.
        sum_error, cosine_error: planned bounds.
    """

    averaging: str
    hides_weights: bool
    hides_parameters: bool
    network: str
    parameters: int
    edges: int
    min_senders: int
    max_share: float | None
    query_bytes: int
    answer_bytes: int
    request_bytes: int
    contribution_bytes: int
    sum_error: float
    cosine_error: float


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be known before a run.

    Attributes:
        name, seeds, rounds, backend: as configured.
        participants: on the first seed.
        features: names of the features, or their number where they have no names.
        classes: codes of each class, or their numbers.
        columns: where ranges and levels of a table come from: "public", "participants", or None
            where there is no table.
        inferred: the columns were found in the tables now.
        unused: columns that inference left out, with the reason.
        algorithms: what each would send; none where nobody collaborates.
        plan: of the participant with the most samples.
        estimate: cost of one participant, if a cost model was given.
        disclosure: for each student.
        sums: of models; None where none are averaged.
        warnings: what may surprise.
    """

    name: str
    seeds: list[int]
    rounds: int
    backend: str
    participants: list[CheckedParticipant]
    features: list[str] | int
    classes: list[str]
    columns: str | None
    inferred: bool
    unused: dict[str, str]
    algorithms: list[CheckedAlgorithm]
    plan: PlanReport | None
    estimate: Estimate | None
    disclosure: list[CheckedDisclosure]
    sums: CheckedSums | None
    warnings: list[str]


def check_config(config: RunConfig, *, cost_model: Path | None = None) -> Checked:
    """Read the data of every seed, plan every exchange, and sum up.

    Args:
        config: as loaded.
        cost_model: file of `securefair profile scale --out`.

    Raises:
        SecureFairError: exactly where a run would refuse; or the cost model cannot be used.
    """
    resolved = resolve(config)
    config = resolved.config
    everyone = [load_participants(config, seed) for seed in config.run.seeds]
    for data in everyone:
        check_plans(config, data)
    first = everyone[0]
    agreed = {
        name: collaboration_of(config, first, algorithm=name, seed=config.run.seeds[0])
        for name in config.run.collaborative
        if name != GOSSIP
    }
    averaging = None
    if GOSSIP in config.run.collaborative:
        averaging = agreement_of(config, first, seed=config.run.seeds[0])
    plan = plan_exchange(next(iter(agreed.values())).spec) if agreed else None
    cost = None
    if cost_model is not None and plan is not None:
        cost = estimate(
            plan,
            load_model(cost_model),
            participants=len(first),
            rounds=config.training.rounds,
            forced_every=config.fairness.forced_every,
        )
    disclosure = _disclosure(config, next(iter(agreed.values())), first) if agreed else []
    table = config.table
    return Checked(
        name=config.run.name,
        seeds=list(config.run.seeds),
        rounds=config.training.rounds,
        backend=config.encryption.backend,
        participants=[_participant(own) for own in first],
        features=list(table_spec(table).features)
        if table is not None and table.columns
        else int(np.prod(first[0].train.features.shape[1:])),
        classes=[" or ".join(codes) for codes in table.classes]
        if table is not None and table.classes
        else [str(label) for label in range(first[0].train.classes)],
        columns=table.origin if table is not None and table.columns else None,
        inferred=resolved.inferred,
        unused=dict(resolved.unused),
        algorithms=[
            *(_algorithm(config, name, one, first, disclosure) for name, one in agreed.items()),
            *([] if averaging is None else [_averaging_traffic(config, averaging)]),
        ],
        plan=None if plan is None else report_plan(plan),
        estimate=cost,
        disclosure=disclosure,
        sums=None if averaging is None else _sums(averaging),
        warnings=[*_averaging_warnings(averaging), *_warnings(config, first, disclosure)],
    )


def _participant(own: ParticipantData) -> CheckedParticipant:
    labels = np.concatenate([own.train.labels, own.test.labels])
    return CheckedParticipant(
        name=own.name,
        train=len(own.train),
        test=len(own.test),
        by_class=np.bincount(labels, minlength=own.train.classes).tolist(),
    )


def _algorithm(
    config: RunConfig,
    name: str,
    agreed: Collaboration,
    data: Sequence[ParticipantData],
    disclosure: Sequence[CheckedDisclosure],
) -> CheckedAlgorithm:
    rounds, peers = config.training.rounds, len(data) - 1
    forced = rounds if agreed.always_share else -(-rounds // agreed.forced_every)
    plans = [plan_exchange(agreed.spec_for(len(own.train))) for own in data]
    total = config.disclosure.teacher_total

    def traffic(asked: int, extreme: Callable[[Iterable[int]], int]) -> tuple[int, int]:
        """Answers and bytes; `extreme` is max for what is certain, min for what is possible."""
        given = [min(asked, row.numbers_in_run // row.numbers_per_answer) for row in disclosure]
        answers = peers * sum(given)
        size = sum(
            peers * _exchange_bytes(plan, answered, asked)
            for plan, answered in zip(plans, given, strict=True)
        )
        if answers and total is not None:
            permitted = [row.numbers_per_answer for row in disclosure if row.permitted]
            withheld = max(0, answers - len(data) * (total // extreme(permitted)))
            answers -= withheld
            size -= withheld * extreme(plan.answer_bytes for plan in plans)
        return answers, size

    least_answers, least_bytes = traffic(forced, max)
    most_answers, most_bytes = traffic(rounds, min)
    return CheckedAlgorithm(
        name=name,
        least_answers=least_answers,
        most_answers=most_answers,
        least_bytes=least_bytes,
        most_bytes=most_bytes,
    )


def _averaging_traffic(config: RunConfig, agreed: GossipAgreement) -> CheckedAlgorithm:
    """An answer is a cosine or a part of a sum; which parts there are is left to chance."""
    rounds, people = config.training.rounds, len(agreed.participants)
    edges = int(agreed.graph.sum()) - people  # in both directions
    inner, sums = agreed.alignment.inner, agreed.sum_plan
    cosines = edges * -(-rounds // agreed.forced_every)
    once = people * (people - 1) * (inner.public_key_bytes + sums.public_key_bytes)
    least = once + cosines * (inner.query_bytes + inner.answer_bytes)
    part = sums.request_bytes + sums.contribution_bytes + KEY_BYTES
    return CheckedAlgorithm(
        name=GOSSIP,
        least_answers=cosines,
        most_answers=cosines + rounds * edges,
        least_bytes=least,
        most_bytes=least + rounds * edges * part,
    )


def _sums(agreed: GossipAgreement) -> CheckedSums:
    inner, plan = agreed.alignment.inner, agreed.sum_plan
    return CheckedSums(
        averaging=agreed.averaging,
        hides_weights=agreed.sums.hides_weights,
        hides_parameters=agreed.sums.hides_parameters,
        network=agreed.network,
        parameters=agreed.stacked.length,
        edges=(int(agreed.graph.sum()) - len(agreed.participants)) // 2,
        min_senders=agreed.min_senders,
        max_share=agreed.max_share,
        query_bytes=inner.query_bytes,
        answer_bytes=inner.answer_bytes,
        request_bytes=plan.request_bytes,
        contribution_bytes=plan.contribution_bytes,
        sum_error=plan.error_bound,
        cosine_error=agreed.alignment.error_bound,
    )


def _averaging_warnings(agreed: GossipAgreement | None) -> list[str]:
    if agreed is None:
        return []
    found = []
    if not agreed.sums.hides_parameters:
        found.append(
            f"Averaging {agreed.averaging} hides no model from whoever averages it: to compare "
            "with only (gossip.averaging)."
        )
    if agreed.averaging == "ckks":
        found.append(
            "Averaging ckks hides weights from senders, so that nobody sees how uneven they are: a "
            "participant that breaks the protocol can read models out of one sum. Take masked "
            "where you do not trust all to follow it (gossip.averaging)."
        )
    few = [
        name
        for name, beside in zip(agreed.participants, agreed.graph, strict=True)
        if beside.sum() - 1 < agreed.min_senders
    ]
    if few:
        found.append(
            f"{', '.join(few)} will never average: fewer than {agreed.min_senders} neighbours."
        )
    return found


def _exchange_bytes(plan: ExchangePlan, answered: int, asked: int) -> int:
    """Between one student and one teacher over a run."""
    once = plan.key_bytes + plan.feature_bytes + plan.basis_bytes
    return once + asked * plan.query_bytes + answered * plan.answer_bytes


def _disclosure(
    config: RunConfig, agreed: Collaboration, data: Sequence[ParticipantData]
) -> list[CheckedDisclosure]:
    spec, limits = agreed.spec, config.disclosure
    section = config.model
    model = build_model(
        section.kind, data[0].train, hidden=section.hidden, network=section.network, seed=0
    )
    parameters = model.parameter_count
    policy = agreed.machine_settings(parameters, limits_of(config)).disclosure
    rows = []
    for own in data:
        samples = len(own.train)
        numbers, limit = policy.numbers_per_answer(samples), policy.limit_per_version(samples)
        totals = (limits.student_total, limits.teacher_total)
        least = min([limit, *(total for total in totals if total is not None)])
        permitted = numbers <= least
        answers = config.training.rounds if permitted else 0  # every round has another version
        if limits.student_total is not None:
            answers = min(answers, limits.student_total // numbers)
        rows.append(
            CheckedDisclosure(
                student=own.name,
                numbers_per_answer=numbers,
                limit=None if np.isinf(limit) else int(limit),
                numbers_in_run=answers * numbers,
                teacher_parameters=parameters,
                student_logits=samples * spec.classes,
                permitted=permitted,
            )
        )
    return rows


def _warnings(
    config: RunConfig, data: Sequence[ParticipantData], disclosure: Sequence[CheckedDisclosure]
) -> list[str]:
    found = []
    if config.encryption.backend == "clear":
        found.append("Backend clear encrypts nothing: for tests only (encryption.backend).")
    refused = [row.student for row in disclosure if not row.permitted]
    if refused:
        found.append(
            f"No teacher would ever answer {', '.join(refused)}: an answer holds more numbers than "
            "[disclosure] permits. Lower distillation.q, or raise disclosure.fraction."
        )
    most = max(disclosure, key=lambda row: row.numbers_in_run, default=None)
    if most is not None and most.numbers_in_run >= most.teacher_parameters:
        found.append(
            f"Over the run a student may get {most.numbers_in_run:,} numbers of a teacher's model, "
            f"which has {most.teacher_parameters:,} parameters: treat the model as known to it. "
            "Fewer rounds, a lower distillation.q or disclosure.student_total limit that."
        )
    if config.table is not None and config.table.origin == "participants":
        found.append(
            "Ranges and levels of columns come from the tables, which tells everyone something of "
            'them. Write them from general knowledge, then say table.origin = "public".'
        )
    for own in data:
        alone = np.unique(own.train.labels)
        if len(alone) == 1:
            found.append(f"{own.name} has training samples of one class only ({alone[0]}).")
        if len(own.test) < 20:
            found.append(
                f"{own.name} tests on {len(own.test)} samples: its accuracy moves in steps of "
                f"{100 / max(1, len(own.test)):.0f} points."
            )
    return found
