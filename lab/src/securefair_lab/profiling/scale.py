"""How cost grows with samples, features and participants, and a model fitted to it.

Exchanges over a grid of samples and features give the model. One off the grid, which the fit
never saw, says how far it can be trusted, and so do encrypted rounds among several participants.
All are measured several times over, in turn, and the shortest times count: what else happens on
the machine only ever adds to them, and a load that changes meets all alike. They are times of the
processor on one thread, where nothing is done by child processes: what the same work takes on a
core of its own.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from itertools import product

import msgspec
import numpy as np

from securefair.circuit import ExchangePlan, ExchangeSpec, plan_exchange
from securefair.ckks import set_threads
from securefair.ckks.backends import get_backend
from securefair.collaboration import PublicFacts
from securefair.collaboration.distillation import DistillationAgreement
from securefair.config import (
    DistillationSection,
    EncryptionSection,
    FairnessSection,
    ModelSection,
    TrainingSection,
    defaults,
)
from securefair.data import ParticipantData
from securefair.profiling import (
    ANSWER,
    IMPORT,
    RECEIVE,
    CostModel,
    Estimate,
    Stopwatch,
    describe_machine,
    peak_memory,
    reset_peak_memory,
    synthetic,
)
from securefair.profiling.dry_exchange import dry_exchange
from securefair.profiling.estimate import estimate
from securefair_lab.profiling.price_fit import fit_model
from securefair_lab.profiling.watched import start_watched

SAMPLES = (500, 2000, 5000, 9000)
FEATURES = (16, 64, 160)
HELD_OUT = (7000, 100)
PARTICIPANTS = (2, 3, 4)
ROUNDS = 3
REPEATS = 3
TEACHER = ("import_seconds", "receive_seconds", "answer_seconds")


class ScalePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange, measured and predicted.

    Attributes:
        samples, features: its size.
        ring_degree, limbs, blocks: what was planned for it.
        bytes: of keys, upload, query and answer.
        measured, predicted: by quantity (`cost_model.QUANTITIES`).
        error: predicted over measured seconds of the teacher, minus 1.
        errors: the same of every quantity that was measured.
    """

    samples: int
    features: int
    ring_degree: int
    limbs: int
    blocks: int
    bytes: int
    measured: dict[str, float]
    predicted: dict[str, float]
    error: float
    errors: dict[str, float]


class ParticipantsPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Encrypted rounds in which everyone answers everyone, a hospital's mean.

    Attributes:
        participants, rounds: of the run.
        teacher_seconds, bytes: measured; bytes both ways as a student.
        estimate: what the model said.
        error: estimated over measured seconds of the teacher, minus 1.
    """

    participants: int
    rounds: int
    teacher_seconds: float
    bytes: int
    estimate: Estimate
    error: float


class ScaleProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements and the model.

    Attributes:
        model: fitted to `points`.
        points: the grid.
        held_out: what the fit never saw.
        participants: whole collaborations of the smallest size.
    """

    model: CostModel
    points: list[ScalePoint]
    held_out: ScalePoint
    participants: list[ParticipantsPoint]


def profile_scale(
    spec: ExchangeSpec,
    *,
    samples: Sequence[int] = SAMPLES,
    features: Sequence[int] = FEATURES,
    held_out: tuple[int, int] = HELD_OUT,
    participants: Sequence[int] = PARTICIPANTS,
    backend: str = defaults.BACKEND,
    repeats: int = REPEATS,
    on_point: Callable[[], object] = lambda: None,
) -> ScaleProfile:
    """Measure the grid, fit, predict what was held out, and run small collaborations.

    Sets one thread for the whole process (`threads.set_threads`).

    Args:
        spec: the exchange; its samples and features are replaced.
        samples, features: sides of the grid; at least four points together.
        held_out: samples and features of the point to predict.
        participants: sizes of the collaborations.
        backend: encryption engine.
        repeats: how often everything is measured.
        on_point: called after every exchange and collaboration, to show progress.

    Raises:
        PlanError: a point is impossible.
        DataError: too few points, or a system that does not tell its memory.
    """
    set_threads(1)
    sizes = [*product(samples, features), held_out]
    plans = [plan_exchange(msgspec.structs.replace(spec, samples=b, features=d)) for b, d in sizes]
    _measure(plans[0], backend)  # starts what starts only once
    measured: list[dict[str, float]] = [{} for _ in plans]
    groups: dict[int, tuple[float, int]] = {}
    for _ in range(repeats):
        for shortest, plan in zip(measured, plans, strict=True):
            for name, value in _measure(plan, backend).items():
                shortest[name] = min(value, shortest.get(name, value))
            on_point()
        for count in participants:
            found = _collaborate(plans[0], count, backend)
            groups[count] = min(found, groups.get(count, found))
            on_point()
    model = fit_model(
        plans[:-1],
        measured[:-1],
        machine=describe_machine().processor,
        backend=backend,
        threads=1,
    )
    *points, last = [
        _point(plan, found, model) for plan, found in zip(plans, measured, strict=True)
    ]
    together = [_together(plans[0], model, count, *found) for count, found in groups.items()]
    return ScaleProfile(model=model, points=points, held_out=last, participants=together)


def _measure(plan: ExchangePlan, backend: str) -> dict[str, float]:
    material, engine, keys = synthetic(plan), get_backend(backend), Stopwatch(time.process_time)
    gc.collect()
    reset_peak_memory()
    with keys.stage("keys"):
        owned = engine.generate_keys(
            plan.params,
            relinearization=plan.relinearization_limbs,
            galois=plan.galois_limbs,
            element=plan.galois_element,
        )
    dry_exchange(
        material, engine, owned, Stopwatch(), Stopwatch()
    )  # memory of this size is there now
    stages, totals = Stopwatch(time.process_time), Stopwatch(time.process_time)
    dry_exchange(material, engine, owned, stages, totals)
    student, basis = stages.seconds, plan.spec.student_basis
    factors = student.get("encrypt_query", 0.0)
    return {
        "key_seconds": keys.seconds["keys"],
        "encrypt_seconds": student["pack"] + student["encrypt"] + (factors if basis else 0.0),
        "query_seconds": 0.0 if basis else factors,
        "prepare_seconds": student.get("prepare", 0.0),
        "import_seconds": totals.seconds[IMPORT],
        "receive_seconds": totals.seconds[RECEIVE],
        "answer_seconds": totals.seconds[ANSWER],
        "open_seconds": student["open"] + student.get("reconstruct", 0.0),
        "peak_bytes": float(peak_memory()),
    }


def _point(plan: ExchangePlan, measured: dict[str, float], model: CostModel) -> ScalePoint:
    predicted = model.predict(plan)
    ratio = _teacher(predicted) / _teacher(measured)
    return ScalePoint(
        samples=plan.spec.samples,
        features=plan.spec.features,
        ring_degree=plan.params.ring_degree,
        limbs=plan.params.limbs,
        blocks=plan.blocks,
        bytes=plan.key_bytes
        + plan.feature_bytes
        + plan.basis_bytes
        + plan.query_bytes
        + plan.answer_bytes,
        measured=measured,
        predicted=predicted,
        error=ratio - 1,
        errors={name: predicted[name] / value - 1 for name, value in measured.items() if value},
    )


def _teacher(seconds: dict[str, float]) -> float:
    return sum(seconds[name] for name in TEACHER)


def _collaborate(plan: ExchangePlan, participants: int, backend: str) -> tuple[float, int]:
    """Rounds of always sharing among equal participants, without local training.

    A teacher's seconds and a student's bytes, means over participants.
    """
    spec = plan.spec
    names = [f"P{n}" for n in range(1, participants + 1)]
    data = [
        ParticipantData(name, material.samples, material.samples.take(np.arange(1)))
        for name, material in ((name, synthetic(plan, seed=n)) for n, name in enumerate(names))
    ]
    agreed = DistillationAgreement(
        facts=PublicFacts(
            participants=tuple(names),
            shape=(spec.features,),
            classes=spec.classes,
            samples=spec.samples,
        ),
        model=ModelSection(
            kind="quadratic" if spec.hidden else "linear",
            hidden=spec.hidden or 1,
            weight_bits=spec.weight_bits,
        ),
        training=TrainingSection(local_epochs=0, local_steps=1),
        distillation=DistillationSection.model_validate(
            {"release": spec.release, "basis": spec.basis, "q": spec.q, "lambda_0": 0.0}
        ),
        fairness=FairnessSection(),
        encryption=EncryptionSection(
            backend=backend, flooding_bits=spec.flooding_bits, precision=spec.precision
        ),
        always_share=True,
    )
    run, everyone = start_watched("scale", data, agreed, seed=0, clock=time.process_time)
    for _ in run.rounds(ROUNDS):
        pass
    seconds = sum(p.teacher_seconds for p in everyone) / participants
    return seconds, sum(row.bytes for row in run.traffic) // participants


def _together(
    plan: ExchangePlan, model: CostModel, participants: int, seconds: float, size: int
) -> ParticipantsPoint:
    expected = estimate(plan, model, participants=participants, rounds=ROUNDS)
    return ParticipantsPoint(
        participants=participants,
        rounds=ROUNDS,
        teacher_seconds=seconds,
        bytes=size,
        estimate=expected,
        error=expected.teacher_hours * 3600 / seconds - 1,
    )
