"""What a transfer costs a hospital, by prices that the laboratory measured on a machine.

Everybody asks everybody in groups of `peers` + 1 or some more, so the cost of N hospitals is

    seconds = N hospital + sum of k answer + sum of k (k - 1) mask,

over all hospitals, each with k others in its group. The prices are those of a hospital (own fits,
keys, encryption, opening), of an answer, and of a mask, which every teacher of a sum shares with
every other. Seconds are those of one core.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.config.extensions import LABORATORY
from securefair.errors import ConfigError
from securefair.profiling.cost_model import read_prices
from securefair.profiling.estimate import GIGABYTE, HOUR, Estimate


class TransferPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One whole transfer.

    Attributes:
        participants: N.
        answers: answers of all teachers together.
        seconds: seconds of one core, measured: all hospitals together.
        bytes: bytes of all messages.
        predicted: seconds, by the prices.
        error: predicted over measured seconds, minus 1.
    """

    participants: int
    answers: int
    seconds: float
    bytes: int
    predicted: float
    error: float


class TransferProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements and prices.

    Attributes:
        machine, backend: where, and with which engine, on one thread.
        patients, features, classes, q, peers: sizes of every transfer.
        hospital_seconds, answer_seconds, mask_seconds: prices.
        points: those that the prices were fitted to.
        held_out: one that they were not, which they foretell.
    """

    machine: str
    backend: str
    patients: int
    features: int
    classes: int
    q: int
    peers: int
    hospital_seconds: float
    answer_seconds: float
    mask_seconds: float
    points: list[TransferPoint]
    held_out: TransferPoint


MEASURE = "securefair profile scale --of transfer --out cost.json"
"""The command that measures such prices, with the sizes of a transfer beside it."""


def load_transfer(path: Path) -> TransferProfile:
    """Prices that `profile scale --of transfer` wrote.

    Raises:
        DataError: the file is missing or holds other prices.
    """
    return read_prices(path, TransferProfile, MEASURE)


def foretold(profile: TransferProfile, agreed: TransferAgreement) -> Estimate:
    """What a transfer costs a hospital, own fits included, and nothing of memory.

    Raises:
        ConfigError: the prices are of other transfers, or of smaller hospitals.
    """
    for where, found, expected in (
        ("transfer.fit", "quadratic" if agreed.degree == 2 else "linear", "linear"),
        ("features", agreed.features, profile.features),
        ("classes", agreed.classes, profile.classes),
        ("numbers a logit", agreed.numbers_of(agreed.facts.samples), profile.q),
    ):
        if found != expected:
            raise _other_prices(agreed, where, found, expected)
    if agreed.facts.samples > profile.patients:
        most = f"at most {profile.patients}"
        raise _other_prices(agreed, "samples", agreed.facts.samples, most)
    teachers, plan = agreed.most_teachers, agreed.plan
    return Estimate(
        participants=len(agreed.participants),
        rounds=1,
        forced_every=1,
        sharing=1.0,
        answers=teachers,
        teacher_hours=teachers
        * (profile.answer_seconds + (teachers - 1) * profile.mask_seconds)
        / HOUR,
        student_hours=profile.hospital_seconds / HOUR,
        gigabytes_up=teachers * (plan.key_bytes + plan.feature_bytes) / GIGABYTE,
        gigabytes_down=teachers * plan.answer_bytes / GIGABYTE,
        peak_gigabytes=None,
    )


def measuring(agreed: TransferAgreement) -> str:
    """The command that measures the prices of this transfer, with the q that hospitals get."""
    return (
        f"securefair profile scale --of transfer --samples {agreed.facts.samples} "
        f"--features {agreed.features} --classes {agreed.classes} "
        f"--q {agreed.numbers_of(agreed.facts.samples)} --out cost.json"
    )


def _other_prices(
    agreed: TransferAgreement, where: str, found: object, expected: object
) -> ConfigError:
    return ConfigError(
        "the prices are of another transfer",
        where=where,
        found=found,
        expected=expected,
        hint=f"Measure this one (with {LABORATORY}): {measuring(agreed)}",
    )
