"""What a description will send and let out, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from securefair.averaging.pairwise import PUBLIC_BYTES
from securefair.averaging.shares import KEY_BYTES
from securefair.collaboration.forecast import CheckedAlgorithm, CheckedDisclosure, Forecast
from securefair.collaboration.table_one.rules import FEWEST_EACH, FEWEST_PATIENTS
from securefair.collaboration.table_one.telling import ROUNDS
from securefair.data import ParticipantData

if TYPE_CHECKING:
    from securefair.collaboration.table_one.agreement import TableAgreement


def forecast_of(name: str, agreed: TableAgreement, data: Sequence[ParticipantData]) -> Forecast:
    """See `Kind.forecast`."""
    policy = agreed.disclosure_policy
    people, numbers = len(agreed.participants), agreed.numbers_a_round
    totals = [one for one in (policy.student_total, policy.teacher_total) if one is not None]
    permitted = all(ROUNDS * numbers <= total for total in totals)
    up, down = agreed.question.lengths
    pairs = people * (people - 1)
    introductions, asked = pairs * PUBLIC_BYTES, ROUNDS * pairs * up
    answered = asked + ROUNDS * pairs * (down + KEY_BYTES)
    warnings = cautions_of(agreed)
    if not permitted:
        warnings.append(
            f"Nobody would get a table: two sums of {numbers} numbers are more than [disclosure] "
            "permits. Raise disclosure.student_total and teacher_total."
        )
    return Forecast(
        traffic=CheckedAlgorithm(
            name=name,
            least_answers=ROUNDS * pairs if permitted else 0,
            most_answers=ROUNDS * pairs,
            least_bytes=answered if permitted else 0,
            most_bytes=introductions + answered,
        ),
        numbers=ROUNDS * numbers,
        disclosure=[
            CheckedDisclosure(
                student=own.name,
                numbers_per_answer=numbers,
                limit=None,
                numbers_in_run=ROUNDS * numbers if permitted else 0,
                teacher_parameters=numbers,
                student_logits=0,
                permitted=permitted,
            )
            for own in data
        ],
        warnings=warnings,
    )


def cautions_of(agreed: TableAgreement) -> list[str]:
    """What a hospital tells of its patients."""
    people, hospitals = len(agreed.participants), agreed.hospitals
    found = [
        f"Every hospital gets sums over the other {people - 1}: patients, and of every column "
        f"counts of cells in which {'all' if hospitals == people else hospitals} hospitals have "
        f"{FEWEST_EACH} patients or more, and of how many hospitals have so many in each other "
        "cell; of measurements counts of parts of their ranges, where so many hospitals have "
        f"{FEWEST_PATIENTS} values. All others together know the last one's."
    ]
    if hospitals < people:
        found.append(
            f"A cell is told that {hospitals} of {people} hospitals say they have patients in. One "
            "that lies can say so for others too, and learn of a cell of one hospital. "
            "table_one.hospitals = 0 asks for all."
        )
    return found
