"""What a finished run leaves behind besides its rounds and exchanges, whatever its kind."""

from __future__ import annotations

from typing import Self

import msgspec

from securefair.circuit.planner import ExchangePlan
from securefair.collaboration.audit import Audit
from securefair.model.quantize import QuantizationReport
from securefair.records import (
    AveragingResult,
    LedgerRow,
    PrivacyResult,
    StandInResult,
    TrafficRow,
    TrustResult,
)


class EncryptionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was encrypted, and how far it was off.

    Attributes:
        backend: that computed on what was asked; whether averaged models were hidden says
            `averaging`.
        ring_degree, log_qp, security_bits: of the parameters.
        release: what was opened.
        flooding_bits: log2 of an answer's noise over what depends on its sender.
        max_abs_error: of opened values against the same in the clear; None without an audit.
        error_over_range: the same over the range of these values.
        averaging: where models are averaged.
        error_bound: planned, of an opened value; None where nothing is planned.
        bits_per_number: most that one opened number tells, at the resolution it is opened at.
    """

    backend: str
    ring_degree: int
    log_qp: float
    security_bits: int
    release: str
    flooding_bits: int
    max_abs_error: float | None
    error_over_range: float | None
    averaging: AveragingResult | None = None
    error_bound: float | None = None
    bits_per_number: int | None = None

    @classmethod
    def of_exchange(cls, plan: ExchangePlan, audit: Audit | None, *, backend: str) -> Self:
        """Where students open what teachers answer."""
        return cls(
            backend=backend,
            ring_degree=plan.params.ring_degree,
            log_qp=plan.params.log_qp,
            security_bits=plan.security_bits,
            release=plan.spec.release,
            flooding_bits=plan.spec.flooding_bits,
            max_abs_error=None if audit is None else audit.max_abs_error,
            error_over_range=None if audit is None else audit.error_over_range,
            error_bound=plan.error_bound,
            bits_per_number=plan.bits_per_number,
        )


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a finished run leaves behind.

    Attributes:
        encryption: with what; the same for every seed but for errors and counts.
        quantization: of every participant's last model; empty where no model meets ciphertexts.
        ledger: what every participant has let out.
        traffic: bytes by sender, receiver and type of message.
        problems: what participants blamed each other for, or what failed.
        repeated: bytes sent once more because the run was interrupted, not in `traffic`.
        privacy: of every participant that answers from a private model; None without any.
        trust: of each participant in its peers, by name, where that is a number.
        stand_ins: of models that participants brought, by name.
        temperatures: what the logits of each participant's model are to be divided by, by name:
            fitted to out-of-fold predictions; empty where a kind has none.
        sums: what hospitals added up instead of answering, by its name; None in other kinds.
    """

    encryption: EncryptionFacts
    quantization: list[QuantizationReport]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    problems: list[str]
    repeated: int = 0
    privacy: dict[str, PrivacyResult] | None = None
    trust: dict[str, TrustResult] = {}
    stand_ins: dict[str, StandInResult] = {}
    temperatures: dict[str, float] = {}
    sums: str | None = None
