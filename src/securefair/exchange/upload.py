"""A student's material at its teacher: checked against the plan, then expanded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from securefair.circuit.network import Chunk
from securefair.circuit.planner import ExchangePlan
from securefair.ckks.backends.wire import switching_key_bytes
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.keys import Backend, PublicKeys
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError
from securefair.exchange import steps
from securefair.exchange.account import check_caller
from securefair.exchange.request import Request


@dataclass(frozen=True, eq=False)
class ReceivedUpload:
    """A student's material at the teacher, validated and expanded; no secret in it.

    The features of a network stay as they were sent, and are expanded whenever they are read:
    all at once they would take twice the memory.
    """

    plan: ExchangePlan
    peer: str
    basis: steps.PublicBasis
    evaluator: Evaluator[object]
    features: Sequence[CipherTensor[object] | Sequence[Chunk[object]]]
    factors: list[CipherTensor[object]]

    def __repr__(self) -> str:
        """What it is, without its residues."""
        spec = self.plan.spec
        return (
            f"Upload({spec.samples} samples of {spec.features} features, "
            f"blocks: {len(self.features)}, release {spec.release})"
        )


def receive_upload(
    plan: ExchangePlan,
    backend: Backend,
    keys: PublicKeys,
    features: bytes | memoryview,
    basis: bytes | memoryview,
    *,
    seed: bytes,
    peer: str,
) -> ReceivedUpload:
    """Validate keys and ciphertexts against a plan, and expand them.

    Args:
        plan: of the exchange.
        backend: that computes.
        keys: the student's public keys.
        features, basis: its ciphertexts; `basis` is read only where the plan lists it.
        seed: of the public basis.
        peer: the caller, as the channel authenticated it.

    Raises:
        DataError: the caller's name is none.
        EncryptionError: keys or ciphertexts do not fit the plan.
    """
    check_caller(peer)
    check_keys(plan, len(keys.evaluation))
    if backend.planned_bytes:
        _check_listed(plan, keys)
    evaluator = backend.evaluator(plan.params, keys)
    factors = (
        steps.receive(evaluator, plan.factors, basis, plan.blocks)
        if plan.factors is not None and plan.spec.student_basis
        else []
    )
    return ReceivedUpload(
        plan=plan,
        peer=peer,
        basis=steps.public_basis(plan, seed),
        evaluator=evaluator,
        features=(
            steps.receive_in_chunks(evaluator, plan.features, features, plan.blocks)
            if plan.spec.network
            else steps.receive(evaluator, plan.features, features, plan.blocks)
        ),
        factors=factors,
    )


def check_lengths(plan: ExchangePlan, asked: Request) -> None:
    """Refuse a request with a part of another length than planned, before any of it is read."""
    parts = (
        ("public_key", asked.public_key, plan.public_key_bytes),
        ("features", asked.features, plan.feature_bytes),
        ("basis", asked.basis, plan.basis_bytes),
        ("predictions", asked.predictions, plan.query_bytes),
    )
    for name, data, expected in parts:
        if len(data) != expected:
            raise EncryptionError(
                "a part of the request has the wrong length",
                where=name,
                found=f"{len(data)} bytes",
                expected=f"{expected} bytes",
                hint="Both sides must use the same plan and backend",
            )


def check_keys(plan: ExchangePlan, size: int) -> None:
    """Refuse evaluation keys that the plan does not list, before they are read."""
    if size > plan.evaluation_key_bytes:
        raise EncryptionError(
            "evaluation keys are larger than the plan lists",
            found=f"{size} bytes",
            expected=f"at most {plan.evaluation_key_bytes} bytes",
        )


def _check_listed(plan: ExchangePlan, keys: PublicKeys) -> None:
    """Refuse keys that are missing, or for other levels than the plan has, before work is done
    that needs them in the end."""
    for name, limbs, key in (
        ("relinearisation", plan.relinearization_limbs, keys.relinearization),
        (plan.galois_name, plan.galois_limbs, keys.galois),
    ):
        expected = switching_key_bytes(plan.params, limbs)
        if len(key) != expected:
            wrong = "not the plan's" if key and limbs else "missing" if limbs else "not in the plan"
            raise EncryptionError(
                f"the {name} key is {wrong}",
                found=f"{len(key)} bytes",
                expected=f"{expected} bytes",
            )
