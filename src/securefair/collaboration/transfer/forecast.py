"""What a transfer will send and let out, before it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from securefair.averaging.pairwise import PUBLIC_BYTES
from securefair.averaging.recovery import sent_beside
from securefair.averaging.shares import KEY_BYTES
from securefair.ckks.backends import encrypts
from securefair.collaboration.forecast import CheckedAlgorithm, CheckedDisclosure, Forecast
from securefair.collaboration.telling import told_of_stand_in
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.transfer.answering import stand_in_of, stand_in_result
from securefair.collaboration.wording import data_size, told_in_the_open
from securefair.config import TransferSection
from securefair.data import ParticipantData
from securefair.model.transfer.answers import query_size
from securefair.words import words_of


def forecast_of(name: str, agreed: TransferAgreement, data: Sequence[ParticipantData]) -> Forecast:
    """See `Kind.forecast`."""
    disclosure = _disclosure(agreed, data)
    return Forecast(
        traffic=_traffic(name, agreed, data, disclosure),
        numbers=max(row.numbers_in_run for row in disclosure),
        plan=agreed.plan if agreed.question.encrypts else None,
        disclosure=disclosure,
        warnings=_warnings(agreed, data, disclosure),
        chosen=_chosen(agreed),
    )


def _chosen(agreed: TransferAgreement) -> str:
    because = agreed.chosen_sum.because
    if agreed.question.encrypts:
        backend = agreed.encryption.backend
        how = "under encryption" if encrypts(backend) else f"in the open (backend {backend})"
        return f"Fits are asked about samples, {how}: {because}."
    part = data_size(agreed.question.lengths[1])
    return (
        f"Hospitals add up what their fits know (transfer.sums = {agreed.chosen_sum.name}), "
        f"{part} a peer under masks, and encrypt nothing: {because}."
    )


def _traffic(
    name: str,
    agreed: TransferAgreement,
    data: Sequence[ParticipantData],
    disclosure: Sequence[CheckedDisclosure],
) -> CheckedAlgorithm:
    """Requests carry keys and features; a part is an answer, what follows it, and its key."""
    people = len(agreed.participants)
    introductions = people * (people - 1) * PUBLIC_BYTES if agreed.sums else 0
    least = most = 0, introductions
    for own, row in zip(data, disclosure, strict=True):
        teachers = len(agreed.teachers_of(own.name))
        for at, asking in enumerate((*own.earlier, own)):
            up, down = agreed.question.bytes_of(_asked(agreed, asking))
            request = teachers * up
            spare = min(agreed.most_spare, agreed.missing_of(own.name) or 0)
            key = KEY_BYTES + sent_beside(spare) if agreed.sums else 0
            answered = teachers, request + teachers * (down + key)
            # Who asks anew may be refused: by reputation, or since the first answer was enough.
            most = _plus(most, answered if row.permitted else (0, request))
            least = _plus(least, answered if row.permitted and at == 0 else (0, request))
    return CheckedAlgorithm(
        name=name,
        least_answers=least[0],
        most_answers=most[0],
        least_bytes=least[1],
        most_bytes=most[1],
    )


def _asked(agreed: TransferAgreement, own: ParticipantData) -> int:
    """Patients in a question; outlines of them take no memory."""
    return sum(map(len, agreed.asked_parts(own)))


def _plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _disclosure(
    agreed: TransferAgreement, data: Sequence[ParticipantData]
) -> list[CheckedDisclosure]:
    policy = agreed.disclosure_policy
    totals = [total for total in (policy.student_total, policy.teacher_total) if total is not None]
    rows = []
    for own in data:
        patients = [_asked(agreed, one) for one in (*own.earlier, own)]
        samples = query_size(max(patients))
        numbers = agreed.question.numbers_of(max(patients))
        limit = policy.limit_per_version(samples)
        permitted = numbers <= min([limit, *totals])
        in_run = sum(map(agreed.question.numbers_of, patients))
        rows.append(
            CheckedDisclosure(
                student=own.name,
                numbers_per_answer=numbers,
                limit=None if np.isinf(limit) else int(limit),
                numbers_in_run=in_run if permitted else 0,
                teacher_parameters=agreed.parameters,
                student_logits=samples * agreed.outputs,
                permitted=permitted,
            )
        )
    return rows


def cautions_of(agreed: TransferAgreement) -> list[str]:
    """Whether peers read patients, and what is known of a teacher after one answer to a student of
    the most samples."""
    most = agreed.question.most_patients
    known = agreed.question.determines_fit(most)
    told = [_fits_known(agreed, f"a student of {most} patients")] if known else []
    return [*_in_the_open(agreed), *_unread(agreed), *told, *_events_known(agreed)]


def _in_the_open(agreed: TransferAgreement) -> list[str]:
    """That peers read what they are asked about; sums hold no patients."""
    return told_in_the_open(agreed.encryption.backend) if agreed.question.encrypts else []


def _events_known(agreed: TransferAgreement) -> list[str]:
    """That few events tell of whom, where fits are added up."""
    few = agreed.outcome.few_events
    if agreed.question.encrypts or not few:
        return []
    return [
        f"Of a hospital with fewer than {few} events the others together know nearly who had one, "
        "and from a sum over two it can be guessed."
    ]


def _unread(agreed: TransferAgreement) -> list[str]:
    """That what somebody asked for has no part in this transfer."""
    if agreed.question.encrypts or agreed.transfer.q == TransferSection().q:
        return []
    return [
        f"transfer.q = {agreed.transfer.q} is not read: what is added up has a size of its own. It "
        'is of answers, which transfer.sums = "none" asks for.'
    ]


def _fits_known(agreed: TransferAgreement, who: str) -> str:
    if not agreed.question.encrypts and agreed.most_teachers == 2:
        return (
            "A sum over two hospitals tells roughly either fit, where they differ in size. That is "
            f"what {who} will know."
        )
    private, promised = "", ""
    if agreed.private:  # nothing of their own fits is answered
        private = "private "
        promised = "" if agreed.privacy is None else f" (epsilon {agreed.privacy.epsilon:g})"
    if agreed.opens == "mean":
        return (
            f"What is opened determines the mean of the teachers' {private}fits{promised}. That is "
            f"what {who} will know, and no single fit."
        )
    return (
        f"One answer determines a teacher's {private}fit{promised}"
        f"{', not its own' * agreed.private}. So {who} will know each teacher's {private}fit, as "
        "if it had been sent."
    )


def _warnings(
    agreed: TransferAgreement,
    data: Sequence[ParticipantData],
    disclosure: Sequence[CheckedDisclosure],
) -> list[str]:
    found = _in_the_open(agreed) + _unread(agreed)
    found += agreed.question.warnings({own.name: _asked(agreed, own) for own in data})
    refused = [row.student for row in disclosure if not row.permitted]
    if refused:
        found.append(
            f"No teacher would ever answer {', '.join(refused)}: an answer holds more numbers than "
            "[disclosure] permits. "
            + (
                "Lower transfer.q"
                if agreed.question.encrypts
                else 'Ask for answers (transfer.sums = "none") of a low transfer.q'
            )
            + ", or raise disclosure.fraction."
        )
    whole = [own.name for own in data if agreed.question.determines_fit(_asked(agreed, own))]
    logits = [
        own.name
        for own in data
        if own.name not in whole and agreed.question.determines_logits(_asked(agreed, own))
    ]
    if whole:
        found.append(_fits_known(agreed, ", ".join(whole)))
    if logits:
        found.append(
            f"{', '.join(logits)} will know every logit on own patients, of "
            f"{'their mean only' if agreed.opens == 'mean' else 'every teacher'}."
        )
    return [*found, *_stand_ins(agreed, data)]


def _stand_ins(agreed: TransferAgreement, data: Sequence[ParticipantData]) -> list[str]:
    """What models that are brought will say through their stand-ins; outlines have no patients."""
    return [
        told_of_stand_in(
            own.name,
            stand_in_result(own.teacher.name, stand_in_of(agreed, own, agreed.seed).disagreement),
            words_of().about("hospitals"),
        )
        for own in data
        if own.teacher is not None and own.train.features.any()
    ]
