"""Private alignments of every hospital that distils, kept in a store where there is one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from securefair.collaboration.private import PrivateTeacher, limit_of, target_of
from securefair.config.privacy import PrivacySection
from securefair.data.dataset import ParticipantData
from securefair.model.heads import Head
from securefair.model.seeds import derive_seed
from securefair.privacy import (
    NoiseSource,
    Patients,
    PrivacyTarget,
    PrivateAlignments,
    SeededNoise,
    SystemNoise,
)
from securefair.privacy.durable import PrivacyAccount, budget_in, is_alignment, reference_of
from securefair.storage import Guarantee, Store


def private_alignments(
    data: Sequence[ParticipantData],
    teachers: Mapping[str, PrivateTeacher],
    terms: PrivacySection,
    *,
    temperature: float,
    seed: int,
    participants: Sequence[str] | None = None,
    budget: Store | None = None,
) -> dict[str, PrivateAlignments]:
    """How every hospital forms alignments with the others; none where `asked_epsilon` is not given.

    Args:
        data: of the hospitals.
        teachers: their private models.
        terms: what it may cost. With a store all alignments are charged here, before any is formed.
            Each is then kept: later runs use it again, whatever the peer answers by then. Other
            peers, another private model or another temperature make other alignments, charged anew.
        temperature: of the distillation loss.
        seed: of the noise in a simulation.
        participants: names of all who take part; None: those in `data`.
        budget: an open store in the place of `terms.store`.

    Raises:
        ConfigError: delta is above 1 / patients, or no noise reaches the target.
        LedgerError: fits and alignments together would cost a hospital's patients too much.
        StorageError: the store is open in another process, or cannot be written.
    """
    if terms.asked_epsilon is None:
        return {}
    found, store = {}, budget or terms.store
    names = [own.name for own in data] if participants is None else participants
    for own in data:
        patients = Patients.of(own.train)
        fit = target_of(terms, patients.count)
        target = PrivacyTarget(
            epsilon=terms.asked_epsilon,
            delta=fit.delta,
            rows_per_patient=fit.rows_per_patient,
        )
        alignments = PrivateAlignments(
            teachers[own.name].model,
            own.train,
            patients,
            target,
            peers=len(names) - 1,
            temperature=temperature,
            noise=_noise(seed, own.name) if store is None else _system_noise(),
        )
        if store is not None:
            peers = [name for name in names if name != own.name]
            what = _about(peers, teachers[own.name].model, temperature)
            reference = reference_of(own.train, patients, target, what)
            alignments.others = _charged(
                store, own.name, reference, alignments, limit_of(terms, fit)
            )
            alignments.once = _once(store, own.name, reference)
        found[own.name] = alignments
    return found


def _system_noise() -> Callable[[str], NoiseSource]:
    system = SystemNoise()
    return lambda _peer: system


def _noise(seed: int, name: str) -> Callable[[str], NoiseSource]:
    # One generator a peer: answers come in any order, and a resumed run repeats what it drew. The
    # word "opinion" is part of its seed, and of what stores keep below.
    return lambda peer: SeededNoise(derive_seed(seed, f"private opinion {peer}", name))


def _about(peers: Sequence[str], model: Head, temperature: float) -> str:
    """All that alignments follow from but the data: equal for equal alignments only.

    Its constants are part of what stores keep: another one would charge every patient again.
    """
    digest = hashlib.blake2b(digest_size=16, person=b"sf-opinions-mdl")
    for parameter in model.parameters():
        digest.update(str(tuple(parameter.shape)).encode())
        digest.update(parameter.detach().numpy().tobytes())
    return msgspec.json.encode(
        ["opinions", sorted(peers), type(model).__name__, digest.hexdigest(), temperature]
    ).decode()


def _charged(
    store: Path | Store, name: str, reference: str, alignments: PrivateAlignments, limit: Guarantee
) -> Guarantee:
    """All alignments at once, before any is formed; returns what other alignments have cost."""
    with budget_in(store) as opened:
        account = PrivacyAccount(opened, name, limit)
        account.once(reference, alignments.allowed, lambda: b"")
        return account.spent_by(lambda one: is_alignment(one) and one.reference != reference)


def _once(
    store: Path | Store, name: str, reference: str
) -> Callable[[str, Callable[[], float]], float]:
    """Forms an alignment that was paid for, unless an earlier process has kept it."""

    def once(peer: str, form: Callable[[], float]) -> float:
        place = f"private/{name}/{reference}/{peer}"
        with budget_in(store) as opened:
            with opened.view() as tx:
                kept = tx.memory.get(place)
            if kept is None:
                kept = np.float64(form()).tobytes()
                with opened.transaction() as tx:
                    tx.memory.put(place, kept)
        return float(np.frombuffer(kept)[0])

    return once
