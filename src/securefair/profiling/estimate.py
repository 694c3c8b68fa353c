"""What a collaboration will cost a hospital, before it starts."""

from __future__ import annotations

import msgspec

from securefair.circuit.planner import ExchangePlan
from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.profiling.cost import WORD
from securefair.profiling.cost_model import CostModel, upload_residues

HOUR, GIGABYTE = 3600.0, 1e9


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of one hospital over a whole collaboration, training and waiting left out.

    Attributes:
        participants, rounds, forced_every, sharing: what was assumed; `sharing` is the mean
            probability that a teacher answers outside forced rounds.
        answers: that it gives as a teacher, and as many that it opens as a student.
        teacher_hours, student_hours: time of one core of a machine like the model's.
        gigabytes_up, gigabytes_down: that it sends as a student and receives as one; as a teacher
            it receives and sends as much.
        peak_gigabytes: memory, uploads of all peers included; None where it was not measured.
    """

    participants: int
    rounds: int
    forced_every: int
    sharing: float
    answers: float
    teacher_hours: float
    student_hours: float
    gigabytes_up: float
    gigabytes_down: float
    peak_gigabytes: float | None

    @property
    def hours(self) -> float:
        """Both roles."""
        return self.teacher_hours + self.student_hours


def estimate(
    plan: ExchangePlan,
    model: CostModel,
    *,
    participants: int,
    rounds: int,
    forced_every: int = defaults.FORCED_EVERY,
    sharing: float = 1.0,
) -> Estimate:
    """A hospital's cost, with every peer as large as itself.

    Args:
        plan: the exchange with a student of that many samples.
        model: prices of a machine like the hospital's.
        participants: N, this hospital included.
        rounds: rounds of the protocol.
        forced_every: R; in every R-th round, the first included, everyone answers.
        sharing: mean reputation, in [0, 1]; 1 is always sharing, 0 asks in forced rounds only.

    Raises:
        ConfigError: a number is out of range.
    """
    for name, value, holds, expected in (
        ("participants", participants, participants >= 2, ">= 2"),
        ("rounds", rounds, rounds >= 1, ">= 1"),
        ("forced_every", forced_every, forced_every >= 1, ">= 1"),
        ("sharing", sharing, 0 <= sharing <= 1, "0 to 1"),
    ):
        if not holds:
            raise ConfigError("out of range", where=name, found=value, expected=expected)
    price, peers = model.predict(plan), participants - 1
    forced = -(-rounds // forced_every)
    answers = peers * (forced + sharing * (rounds - forced))
    asking = rounds if sharing > 0 else forced
    kept = WORD * upload_residues(plan)
    return Estimate(
        participants=participants,
        rounds=rounds,
        forced_every=forced_every,
        sharing=sharing,
        answers=answers,
        teacher_hours=(
            peers * (price["import_seconds"] + price["receive_seconds"])
            + answers * price["answer_seconds"]
        )
        / HOUR,
        student_hours=(
            price["key_seconds"]
            + price["encrypt_seconds"]
            + price["prepare_seconds"]
            + asking * price["query_seconds"]
            + answers * price["open_seconds"]
        )
        / HOUR,
        gigabytes_up=(
            peers * (plan.key_bytes + plan.feature_bytes + plan.basis_bytes)
            + peers * asking * plan.query_bytes
        )
        / GIGABYTE,
        gigabytes_down=answers * plan.answer_bytes / GIGABYTE,
        # The model's exchange keeps one upload; every further peer adds its own.
        peak_gigabytes=(price["peak_bytes"] + (peers - 1) * kept) / GIGABYTE,
    )
