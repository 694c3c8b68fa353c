"""Requests with open weights, and the checks that every implementation applies to messages."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from securefair.averaging.gathering import WEIGHT_TOLERANCE, Gathering
from securefair.averaging.spec import SumPlan
from securefair.errors import LocalProtocolError, RemoteProtocolError

WEIGHT_BYTES = 8
"""A weight travels as a little-endian double."""


def write_weights(weights: list[float]) -> bytes:
    """Weights as bytes."""
    return np.array(weights, dtype="<f8").tobytes()


def read_weights(request: bytes, count: int, gathering: Gathering) -> list[float]:
    """The inverse, checked.

    Raises:
        RemoteProtocolError: not so many shares of a whole; the culprit is the receiver.
    """
    check_request(request, WEIGHT_BYTES * count, gathering)
    weights: list[float] = np.frombuffer(request, dtype="<f8").tolist()
    shares = all(0 <= weight <= 1 for weight in weights)  # NaN is none
    if not shares or math.fsum(weights) > 1 + WEIGHT_TOLERANCE:
        raise RemoteProtocolError(
            "asks with weights that are no shares of a whole",
            culprit=gathering.receiver,
            found=", ".join(f"{weight:.6g}" for weight in weights),
            expected="0 to 1, and at most 1 together",
        )
    return weights


def check_request(request: bytes, expected: int, gathering: Gathering) -> None:
    """Refuse a request of another length.

    Raises:
        RemoteProtocolError: the culprit is the receiver.
    """
    if len(request) != expected:
        raise RemoteProtocolError(
            "its request has the wrong length",
            culprit=gathering.receiver,
            found=f"{len(request)} bytes",
            expected=f"{expected} bytes",
        )


def check_shares(plan: SumPlan, gathering: Gathering, shares: Mapping[str, bytes]) -> None:
    """Refuse a sum that lacks a message, or holds one of another length or of a stranger.

    Raises:
        LocalProtocolError: not exactly one message for every sender.
        RemoteProtocolError: a message has the wrong length; the culprit is its sender.
    """
    if set(shares) != set(gathering.senders):
        raise LocalProtocolError(
            "a sum needs one message of every sender",
            found=", ".join(sorted(shares)),
            expected=", ".join(gathering.senders),
        )
    for name, message in shares.items():
        if len(message) != plan.share_bytes:
            raise RemoteProtocolError(
                "its share has the wrong length",
                culprit=name,
                found=f"{len(message)} bytes",
                expected=f"{plan.share_bytes} bytes",
            )


def check_total(plan: SumPlan, gathering: Gathering, largest: float) -> None:
    """Refuse a sum beyond what honest shares add up to.

    Wrong masks give a total that is uniform over the whole range; this notices most of them.

    Raises:
        RemoteProtocolError: one of the senders is the culprit, and nobody can tell which.
    """
    most = plan.spec.bound * (1 + WEIGHT_TOLERANCE) + plan.error_bound
    if not largest <= most:  # NaN is not
        raise RemoteProtocolError(
            "the sum exceeds what honest shares add up to",
            culprit=" or ".join(gathering.senders),
            found=f"{largest:.6g}",
            expected=f"at most {most:.6g} in magnitude",
        )
