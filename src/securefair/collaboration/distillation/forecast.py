"""What a run that distils will send and let out, before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.collaboration.distillation.agreement import DistillationAgreement
from securefair.collaboration.forecast import CheckedAlgorithm, CheckedDisclosure, Forecast
from securefair.collaboration.wording import told_in_the_open
from securefair.data import ParticipantData, Samples
from securefair.model.building import build_model
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.settings import MachineSettings


def forecast_of(
    name: str, agreed: DistillationAgreement, data: Sequence[ParticipantData]
) -> Forecast:
    """See `Kind.forecast`.

    Args:
        name: of the algorithm.
        agreed: what was agreed on.
        data: of everyone.
    """
    settings = agreed.machine_settings(agreed.participants[0], 1)  # of anyone, but for its model
    samples = {own.name: len(own.train) for own in data}
    disclosure = _disclosure(agreed, settings.disclosure, samples, data[0].train)
    return Forecast(
        traffic=_algorithm(name, agreed, settings, data, disclosure),
        numbers=max(row.numbers_in_run for row in disclosure),
        plan=plan_exchange(agreed.spec),
        disclosure=disclosure,
        warnings=_warnings(agreed, disclosure),
    )


def cautions_of(agreed: DistillationAgreement) -> list[str]:
    """Whether peers read samples, and whether anybody would ever be answered, where all bring as
    many samples as they may."""
    settings = agreed.machine_settings(agreed.participants[0], 1)
    shape = (agreed.classes, *agreed.facts.shape)
    alike = Samples(np.ones(shape), np.arange(agreed.classes), agreed.classes)
    samples = dict.fromkeys(agreed.participants, agreed.facts.samples)
    return [
        *told_in_the_open(agreed.encryption.backend),
        *_unanswered(agreed, _disclosure(agreed, settings.disclosure, samples, alike)),
    ]


def _algorithm(
    name: str,
    agreed: DistillationAgreement,
    settings: MachineSettings,
    data: Sequence[ParticipantData],
    disclosure: Sequence[CheckedDisclosure],
) -> CheckedAlgorithm:
    rounds = agreed.training.rounds
    students = [own for own in data if agreed.asked_by(own.name)]
    teachers = len(agreed.teachers) or len(data)
    forced = rounds if agreed.always_share else -(-rounds // agreed.fairness.forced_every)
    plans = [plan_exchange(agreed.spec_for(len(own.train))) for own in students]
    peers = [len(agreed.asked_by(own.name)) for own in students]
    total = settings.disclosure.teacher_total
    renewals = 0 if settings.key_rounds is None else (rounds - 1) // settings.key_rounds

    def traffic(asked: int, extreme: Callable[[Iterable[int]], int]) -> tuple[int, int]:
        """Answers and bytes; `extreme` is max for what is certain, min for what is possible."""
        given = [min(asked, row.numbers_in_run // row.numbers_per_answer) for row in disclosure]
        answers = sum(asking * answered for asking, answered in zip(peers, given, strict=True))
        size = sum(
            asking * _exchange_bytes(plan, answered, asked, renewals if extreme is min else 0)
            for asking, plan, answered in zip(peers, plans, given, strict=True)
        )
        if answers and total is not None:
            permitted = [row.numbers_per_answer for row in disclosure if row.permitted]
            withheld = max(0, answers - teachers * (total // extreme(permitted)))
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


def _exchange_bytes(plan: ExchangePlan, answered: int, asked: int, renewals: int) -> int:
    """Between one student and one teacher over a run."""
    upload = plan.key_bytes + plan.feature_bytes + plan.basis_bytes
    return (1 + renewals) * upload + asked * plan.query_bytes + answered * plan.answer_bytes


def _disclosure(
    agreed: DistillationAgreement,
    policy: DisclosurePolicy,
    samples: Mapping[str, int],
    alike: Samples,
) -> list[CheckedDisclosure]:
    """For each student, of which so many samples are there; models are for samples like `alike`."""
    spec, section = agreed.spec, agreed.model
    model = build_model(section.kind, alike, hidden=section.hidden, network=section.network, seed=0)
    parameters = model.parameter_count
    policy = replace(policy, teacher_parameters=parameters)
    rows = []
    for name, count in samples.items():
        if not agreed.asked_by(name):
            continue
        numbers, limit = policy.numbers_per_answer(count), policy.limit_per_version(count)
        totals = (policy.student_total, policy.teacher_total)
        least = min([limit, *(total for total in totals if total is not None)])
        permitted = numbers <= least
        answers = agreed.training.rounds if permitted else 0  # every round has another version
        if policy.student_total is not None:
            answers = min(answers, policy.student_total // numbers)
        rows.append(
            CheckedDisclosure(
                student=name,
                numbers_per_answer=numbers,
                limit=None if np.isinf(limit) else int(limit),
                numbers_in_run=answers * numbers,
                teacher_parameters=parameters,
                student_logits=count * spec.classes,
                permitted=permitted,
            )
        )
    return rows


def _unanswered(
    agreed: DistillationAgreement, disclosure: Sequence[CheckedDisclosure]
) -> list[str]:
    """That some are never answered, and what would change it; nothing where all are."""
    refused = [row for row in disclosure if not row.permitted]
    if not refused:
        return []
    names = ", ".join(row.student for row in refused)
    numbers = max(row.numbers_per_answer for row in refused)
    permitted = min(numbers if row.limit is None else row.limit for row in refused)
    found, to = f"an answer holds {numbers} numbers", ""
    if permitted < numbers:
        found += f", and [disclosure] permits {permitted}"
        to = f" to {permitted // agreed.classes}" if permitted >= agreed.classes else ""
    else:
        found += ", more than the totals of [disclosure] permit"
    return [
        f"No teacher would ever answer {names}: {found}. "
        f"Lower distillation.q{to}, or raise what [disclosure] permits."
    ]


def _warnings(agreed: DistillationAgreement, disclosure: Sequence[CheckedDisclosure]) -> list[str]:
    found = told_in_the_open(agreed.encryption.backend) + _unanswered(agreed, disclosure)
    most = max(disclosure, key=lambda row: row.numbers_in_run, default=None)
    if most is not None and most.numbers_in_run >= most.teacher_parameters:
        found.append(
            f"Over the run a student may get {most.numbers_in_run:,} numbers of a teacher's model, "
            f"which has {most.teacher_parameters:,} parameters: treat the model as known to it. "
            "Fewer rounds, a lower distillation.q or disclosure.student_total limit that."
        )
    return found
