"""What a run will send and let out at most, as every kind of collaboration foretells it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from securefair.circuit.planner import ExchangePlan


class CheckedAlgorithm(msgspec.Struct, frozen=True, kw_only=True):
    """What one algorithm puts on the wire over one seed, all participants together.

    Attributes:
        name: of the algorithm.
        least_answers, most_answers: how many answers are given, by reputation and chance.
        least_bytes, most_bytes: of contents, keys and features included. Hellos and declines are
            left out, and what frames a message: at most 128 bytes each.
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
        max_sums: rounds in which one neighbour is offered a model; None for any.
        query_bytes, answer_bytes: of an alignment.
        request_bytes, share_bytes: of a part of a sum.
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
    max_sums: int | None
    query_bytes: int
    answer_bytes: int
    request_bytes: int
    share_bytes: int
    sum_error: float
    cosine_error: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What one algorithm will do.

    Attributes:
        traffic: bytes and answers, between least and most.
        numbers: most numbers that one participant lets out to another over a run.
        plan: of the exchange with the participant with the most samples; None without one.
        forced_every: rounds between those in which everyone answers; 1 for all of them.
        disclosure: for each student; empty where a model's numbers are not opened.
        sums: where models are averaged.
        warnings: what may surprise.
        chosen: what the settings left to a rule, and why it chose so: a sentence; empty without.
    """

    traffic: CheckedAlgorithm
    numbers: int
    plan: ExchangePlan | None = None
    disclosure: list[CheckedDisclosure] = field(default_factory=list)
    sums: CheckedSums | None = None
    warnings: list[str] = field(default_factory=list)
    chosen: str = ""
