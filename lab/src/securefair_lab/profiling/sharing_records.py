"""What a sharing profile says: the fields of its JSON."""

from __future__ import annotations

import msgspec

from securefair_lab.profiling.fit import LinearFit

EVERY_ROUND = ("ask", "answer", "decline")


class SharingCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one run cost, from the first byte to the last round.

    Attributes:
        answers, declines: over all rounds and pairs.
        problems: exchanges that failed, among the declines (weights beyond the plan's bounds, say);
            with any, the run looks cheaper than it is.
        server_seconds: of all teachers, on all cores of this process: receiving keys and features
            once, then answering.
        student_seconds: likewise: keys, encryption (but for what child processes do), opening and
            reconstruction; without training.
        bytes_up, bytes_down: from students to teachers and back, everything on the wire.
        bytes_by_message: the same by type of message.
        accuracy: mean over participants of test accuracy after the last round.
    """

    answers: int
    declines: int
    problems: int
    server_seconds: float
    student_seconds: float
    bytes_up: int
    bytes_down: int
    bytes_by_message: dict[str, int]
    accuracy: float

    @property
    def bytes(self) -> int:
        """Both ways."""
        return self.bytes_up + self.bytes_down

    @property
    def round_bytes(self) -> int:
        """What the rounds themselves send: without keys and features, which travel once."""
        return sum(self.bytes_by_message.get(message, 0) for message in EVERY_ROUND)


class SharingPoint(SharingCost, frozen=True, kw_only=True):
    """A run at one sharing probability.

    Attributes:
        probability: r.
        saving_bytes, saving_seconds: 1 - cost / cost of always sharing.
        saving_round_bytes: the same of queries, answers and declines alone, as in a collaboration
            so long that keys and features no longer count.
    """

    probability: float
    saving_bytes: float
    saving_seconds: float
    saving_round_bytes: float


class CycleCost(SharingCost, frozen=True, kw_only=True):
    """A run with reputations as CYCle forms them.

    Attributes:
        mean_reputation: r_kn over all pairs and all sharing decisions.
        saving_bytes, saving_seconds, saving_round_bytes: as of a `SharingPoint`.
    """

    mean_reputation: float
    saving_bytes: float
    saving_seconds: float
    saving_round_bytes: float


class SharingFits(msgspec.Struct, frozen=True, kw_only=True):
    """Cost = fixed + slope * r."""

    bytes: LinearFit
    seconds: LinearFit


class SharingTask(msgspec.Struct, frozen=True, kw_only=True):
    """What ran, and where."""

    data: str
    participants: int
    samples: int  # of the largest participant
    features: int
    classes: int
    rounds: int
    forced_every: int
    release: str
    q: int
    backend: str
    ring_degree: int
    log_qp: float
    flooding_bits: int
    seed: int
    threads: int


class SharingProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Cost over sharing probability.

    Attributes:
        always: VPDL, which the savings are against.
        cycle: with reputations as they form.
    """

    task: SharingTask
    points: list[SharingPoint]
    fit: SharingFits
    always: SharingCost
    cycle: CycleCost
