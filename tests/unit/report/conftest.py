"""Made-up but plausible records of a run, so that reports have something to show."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from securefair.config import RunConfig, parse_config
from securefair.records import (
    AlgorithmResult,
    EncryptionResult,
    ExchangeRecord,
    GainResult,
    LedgerRow,
    ParticipantResult,
    RoundRecord,
    RunResult,
    TrafficRow,
)
from securefair.worth import cgs, gains, mcg, mva

HOSPITALS = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")
PATIENTS = (303, 294, 123, 200)
ALONE = (0.812, 0.786, 0.902, 0.701)
MAJORITY = (0.541, 0.639, 0.935, 0.745)
CONTROLS = ("standalone", "early_stopping")
EARLY = (0.822, 0.806, 0.912, 0.731)
TOGETHER = {
    "early_stopping": EARLY,
    "vpdl": (0.802, 0.827, 0.927, 0.746),
    "cycle": (0.832, 0.837, 0.927, 0.731),
}
BYTES = {"features": 2_310_000, "answer": 41_300, "decline": 96, "ask": 112}


@dataclass(frozen=True)
class Run:
    """Everything `render_report` and `summary` take."""

    config: RunConfig
    result: RunResult
    rounds: list[RoundRecord]
    exchanges: list[ExchangeRecord]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    versions: dict[str, str]


@cache
def plausible_run(
    *,
    names: tuple[str, ...] = HOSPITALS,
    algorithms: tuple[str, ...] = ("standalone", "early_stopping", "vpdl", "cycle"),
    backend: str | None = "seal",
    rounds: int = 40,
    seeds: tuple[int, ...] = (0,),
    seed: int = 1,
) -> Run:
    """A run of any number of participants; equal arguments give the same records.

    `__wrapped__` gives other ones, which are equal.
    """
    rng = np.random.default_rng(seed)
    n = len(names)
    learners = [name for name in algorithms if name not in CONTROLS]
    subject = learners[-1] if learners else "standalone"
    asked_for = [name for name in algorithms if name != "early_stopping"]
    config = parse_config(
        f'[run]\nname = "demo"\nseeds = {list(seeds)}\nalgorithms = {asked_for}\n'
        f'[data]\nsource = "heart"\n[training]\nrounds = {rounds}\n',
        source="fixture",
    )
    records = [r for name in algorithms for r in _rounds(name, n, rounds, rng)]
    exchanges = [
        ExchangeRecord(
            algorithm=record.algorithm,
            round=record.round,
            student=names[i],
            teacher=names[k],
            answered=record.answered[i][k],
            bytes_up=BYTES["ask"],
            bytes_down=BYTES["answer"] if record.answered[i][k] else BYTES["decline"],
            teacher_seconds=float(rng.gamma(20, 0.004)),
            student_seconds=float(rng.gamma(20, 0.001)),
        )
        for record in records
        for i in range(n)
        for k in range(n)
        if record.asked[i][k] and record.algorithm == subject
    ]
    answers = sum(row.answered for row in exchanges)
    traffic = _traffic(subject, names, exchanges) if learners else []
    encryption = EncryptionResult(
        backend=backend or "",
        ring_degree=8192,
        log_qp=186.0,
        security_bits=128,
        release="projection",
        flooding_bits=30,
        max_abs_error=3.1e-4,
        error_over_range=4.2e-5,
        bytes_up=sum(r.bytes for r in traffic if r.message in ("features", "ask")),
        bytes_down=sum(r.bytes for r in traffic if r.message in ("answer", "decline")),
        answers=answers,
        declines=len(exchanges) - answers,
        seconds=94.2,
    )
    result = _result(names, algorithms, subject, seeds, encryption if backend else None)
    return Run(
        config=config,
        result=result,
        rounds=records,
        exchanges=exchanges,
        ledger=_ledger(subject, names, exchanges),
        traffic=traffic,
        versions={"securefair": "0.1.0", "python": "3.11.9", "torch": "2.13.0"},
    )


def _rounds(algorithm, n, rounds, rng):
    start = np.resize(ALONE, n) - 0.1
    end = np.resize(TOGETHER.get(algorithm, ALONE), n)
    reputation = rng.uniform(0.3, 1.0, (n, n))
    reputation = np.ones((n, n))
    for t in range(rounds):
        forced = algorithm == "cycle" and t % 5 == 0
        accuracy = np.clip(end + (start - end) * np.exp(-t / 6) + rng.normal(0, 0.006, n), 0, 1)
        collaborates = algorithm not in CONTROLS
        alignment = rng.uniform(-0.2, 0.9, (n, n))
        if forced:
            fresh = np.clip(reputation + rng.normal(0, 0.1, (n, n)), 0, 1)
            reputation = fresh if t == 0 else 0.5 * reputation + 0.5 * fresh
        asked = [[collaborates and i != k for k in range(n)] for i in range(n)]
        answered = [
            [
                asked[i][k]
                and (forced or algorithm == "vpdl" or bool(rng.uniform() <= reputation[k, i]))
                for k in range(n)
            ]
            for i in range(n)
        ]
        yield RoundRecord(
            algorithm=algorithm,
            round=t,
            forced=forced,
            accuracy=[float(a) for a in accuracy],
            cross_entropy=[float(0.3 + 0.4 * np.exp(-t / 8)) for _ in range(n)],
            reputation=_matrix(reputation, collaborates),
            alignment=_matrix(alignment, forced),
            distillation_loss=_matrix(-alignment, collaborates),
            asked=asked,
            answered=answered,
        )


def _matrix(values, present):
    n = len(values)
    return [
        [float(values[i, k]) if present and i != k else None for k in range(n)] for i in range(n)
    ]


def _traffic(algorithm, names, exchanges):
    pairs = [(a, b) for a in names for b in names if a != b]
    rows = [
        TrafficRow(algorithm=algorithm, sender=a, receiver=b, message=message, count=1, bytes=size)
        for a, b in pairs
        for message, size in (("hello", 412), ("keys", 1_180_000), ("features", BYTES["features"]))
    ]
    asked, answers = _of_pairs(exchanges)
    for student, teacher in pairs:
        answered = answers[student, teacher]
        for sender, receiver, message, number in (
            (student, teacher, "ask", asked[student, teacher]),
            (teacher, student, "answer", answered),
            (teacher, student, "decline", asked[student, teacher] - answered),
        ):
            rows.append(
                TrafficRow(
                    algorithm=algorithm,
                    sender=sender,
                    receiver=receiver,
                    message=message,
                    count=number,
                    bytes=number * BYTES[message],
                )
            )
    return rows


def _of_pairs(exchanges):
    """How often each (student, teacher) asked and was answered."""
    asked = Counter((e.student, e.teacher) for e in exchanges)
    return asked, Counter((e.student, e.teacher) for e in exchanges if e.answered)


def _ledger(algorithm, names, exchanges):
    rows = []
    _, given = _of_pairs(exchanges)
    for k, teacher in enumerate(names):
        for i, student in enumerate(names):
            answers = given[student, teacher]
            if i != k and exchanges:
                rows.append(
                    LedgerRow(
                        algorithm=algorithm,
                        student=student,
                        teacher=teacher,
                        release="projection",
                        answers=answers,
                        numbers_per_answer=128,
                        numbers_total=128 * answers,
                        teacher_parameters=546,
                        student_logits=2 * int(np.resize(PATIENTS, len(names))[i] * 2 // 3),
                    )
                )
    return rows


def _result(names, algorithms, subject, seeds, encryption):
    n = len(names)
    patients = np.resize(PATIENTS, n)
    alone = np.resize(ALONE, n)
    spread = 0.012 if len(seeds) > 1 else 0.0
    summaries = {}
    for name in algorithms:
        accuracy = np.resize(TOGETHER.get(name, ALONE), n)
        gain = gains(accuracy, alone)
        early = np.resize(EARLY, n)
        over = {"standalone": alone, "early_stopping": early}
        summaries[name] = AlgorithmResult(
            mva=mva(accuracy),
            mcg=mcg(gain),
            cgs=cgs(gain),
            cgs_ddof1=cgs(gain, ddof=1),
            accuracy=[float(a) for a in accuracy],
            gain=[float(g) for g in gain],
            accuracy_spread=[spread] * n,
            gain_spread=[spread] * n,
            mva_spread=spread / 4,
            mcg_spread=spread / 2,
            cgs_spread=spread / 3,
            gain_over={
                control: GainResult(
                    mean=mcg(gains(accuracy, other)),
                    mean_spread=spread / 2,
                    gain=gains(accuracy, other).tolist(),
                    gain_spread=[spread] * n,
                )
                for control, other in over.items()
                if control in algorithms and control != name
            },
            best_control=None
            if name in CONTROLS
            else "early_stopping"
            if "early_stopping" in algorithms
            else "standalone",
        )
    participants = [
        ParticipantResult(
            name=names[i],
            samples=int(patients[i]),
            train_samples=int(patients[i] - patients[i] // 3),
            test_samples=int(patients[i] // 3),
            majority_accuracy=float(np.resize(MAJORITY, n)[i]),
            standalone_accuracy=float(alone[i]),
            accuracy=summaries[subject].accuracy[i],
            gain=summaries[subject].gain[i],
            accuracy_spread=spread,
            gain_spread=spread,
        )
        for i in range(n)
    ]
    return RunResult(
        format=2,
        name="demo",
        seeds=list(seeds),
        algorithm=subject,
        participants=participants,
        algorithms=summaries,
        encryption=encryption,
        controls=[name for name in algorithms if name in CONTROLS],
    )


@pytest.fixture
def make_run():
    """The builder itself, for tests that need another population."""
    return plausible_run


@pytest.fixture(scope="session")
def run():
    """Four hospitals, three algorithms, forty rounds, encrypted."""
    return plausible_run()
