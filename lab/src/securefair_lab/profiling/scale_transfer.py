"""How the cost of a transfer grows with its hospitals, foretold from small ones.

Whole encrypted transfers of a few hospitals give three prices: of a hospital (own fits, keys,
encryption, opening), of an answer, and of a mask, which every teacher of a sum shares with every
other. Everybody asks everybody in groups of `peers` + 1 or some more, so the cost of N hospitals is

    seconds = N hospital + sum of k answer + sum of k (k - 1) mask,

over all hospitals, each with k others in its group: in proportion to N while groups are alike.
Seconds are those of this process on one thread, simulation and checks of opened values included:
what the work takes on a core of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from securefair.ckks import set_threads
from securefair.collaboration import PublicFacts
from securefair.collaboration.transfer import TransferAgreement, TransferHost, TransferObserver
from securefair.config import (
    EncryptionSection,
    ModelSection,
    TransferSection,
    check_section,
    defaults,
)
from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError, EncryptionError
from securefair.profiling import TransferPoint, TransferProfile, describe_machine
from securefair.sites.simulation import SimulatedRun, Town

PARTICIPANTS = (4, 6, 8, 10)
HELD_OUT = 12
REPEATS = 3


def profile_transfer(
    *,
    patients: int,
    features: int,
    classes: int,
    q: int = defaults.TRANSFER_Q,
    peers: int = defaults.PEERS,
    participants: Sequence[int] = PARTICIPANTS,
    held_out: int = HELD_OUT,
    backend: str = defaults.BACKEND,
    repeats: int = REPEATS,
    on_point: Callable[[], object] = lambda: None,
) -> TransferProfile:
    """Measure small transfers, fit the prices, foretell a larger one and measure that as well.

    Sets one thread for the whole process (`threads.set_threads`).

    Args:
        patients, features, classes: of every hospital; patients are synthetic.
        q, peers: as in [transfer].
        participants: sizes of the small transfers, three or more, each of four or more hospitals:
            with fewer there is no sum, and no mask.
        held_out: size of the one that is foretold.
        backend: encryption engine.
        repeats: how often each is measured; the shortest counts.
        on_point: called after every transfer, to show progress.

    Raises:
        ConfigError: too few or too small transfers, or a number out of range.
        PlanError: the exchange is impossible.
    """
    from scipy.optimize import nnls  # takes a while to load

    if len(set(participants)) < 3 or min(*participants, held_out) < 4:
        raise ConfigError(
            "three prices need three sizes",
            where="participants",
            found=list(participants),
            expected="three different numbers or more, each 4 or more",
        )
    if patients < 1:
        raise ConfigError("no patients", where="samples", found=patients, expected="1 or more")
    set_threads(1)
    section = check_section(TransferSection, {"q": q, "peers": peers}, source="profile scale")

    def agreed(count: int) -> TransferAgreement:
        return TransferAgreement(
            facts=PublicFacts(
                participants=tuple(f"P{n}" for n in range(1, count + 1)),
                shape=(features,),
                classes=classes,
                samples=patients,
            ),
            transfer=section,
            model=ModelSection(),
            encryption=EncryptionSection(backend=backend),
        )

    sizes = [*participants, held_out]
    _measured(agreed(4))  # starts what starts only once
    shortest = dict.fromkeys(sizes, np.inf)
    sent: dict[int, int] = {}
    for _ in range(repeats):
        for size in sizes:
            seconds, sent[size] = _measured(agreed(size))
            shortest[size] = min(shortest[size], seconds)
            on_point()
    rows = np.array([_counts(agreed(size)) for size in participants], dtype=np.float64)
    values = np.array([shortest[size] for size in participants])
    scale = rows.max(axis=0)
    # Dividing a row by its value turns least squares on errors into one on relative errors.
    found, _ = nnls(rows / scale / values[:, None], np.ones(len(values)))
    prices = found / scale

    def point(size: int) -> TransferPoint:
        counts = _counts(agreed(size))
        predicted = float(np.dot(counts, prices))
        return TransferPoint(
            participants=size,
            answers=counts[1],
            seconds=shortest[size],
            bytes=sent[size],
            predicted=predicted,
            error=predicted / shortest[size] - 1,
        )

    hospital, answer, mask = prices.tolist()
    return TransferProfile(
        machine=describe_machine().processor,
        backend=backend,
        patients=patients,
        features=features,
        classes=classes,
        q=agreed(4).numbers_of(patients),
        peers=peers,
        hospital_seconds=hospital,
        answer_seconds=answer,
        mask_seconds=mask,
        points=[point(size) for size in participants],
        held_out=point(held_out),
    )


def _counts(agreed: TransferAgreement) -> tuple[int, int, int]:
    """Hospitals, answers, and masks of all teachers."""
    asked = [len(agreed.teachers_of(name)) for name in agreed.participants]
    return len(asked), sum(asked), sum(k * (k - 1) for k in asked)


def _measured(agreed: TransferAgreement) -> tuple[float, int]:
    """Seconds of a whole transfer, and the bytes of its messages.

    Raises:
        EncryptionError: not every answer came, so that the seconds are not those of all.
    """
    hospitals = _synthetic(agreed)
    started = time.process_time()
    hosts = {own.name: TransferHost(own, agreed, seed=0) for own in hospitals}
    town = Town(list(hosts), lambda name, _: hosts[name], agreed, seed=0)
    run = SimulatedRun(town, TransferObserver("transfer", agreed))
    records = list(run.rounds(1))
    seconds = time.process_time() - started
    answers = sum(map(sum, records[0].answered))
    if answers != _counts(agreed)[1]:
        raise EncryptionError("not every answer came", found=answers, expected=_counts(agreed)[1])
    return seconds, sum(row.bytes for row in run.traffic)


def _synthetic(agreed: TransferAgreement) -> list[ParticipantData]:
    """Patients that follow one linear rule, other ones at every hospital."""
    rng = np.random.default_rng(0)
    slopes = rng.normal(0, 2, (agreed.features, agreed.classes))
    hospitals = []
    for name in agreed.participants:
        features = rng.uniform(-1, 1, (agreed.facts.samples, agreed.features))
        noise = rng.gumbel(size=(agreed.facts.samples, agreed.classes))
        labels = (features @ slopes + noise).argmax(axis=1)
        samples = Samples(features, labels, agreed.classes)
        hospitals.append(ParticipantData(name, samples, samples.take(np.arange(1))))
    return hospitals
