"""A hospital's privacy budget over all of its runs: charged before a mechanism runs, and kept.

    charged           committed to the store, or refused
    run               in memory only: nothing has left
    kept              the result is committed
    answered          from the kept result, to any number of students, in any later run

A process that is killed after "charged" has told nobody anything: the next one repeats the run
under the same charge. One that is killed after "kept" finds the result there. So nothing that left
was not charged, and one private fit is charged once, however many students it answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from securefair.data.dataset import Samples
from securefair.errors import StorageError
from securefair.privacy.accounting import SampledGaussian, spent
from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
from securefair.privacy.patients import Patients
from securefair.storage import Access, Guarantee, PrivacyEvent, Store, add_up
from securefair.storage.connection import DATABASE
from securefair.storage.privacy import UNKNOWN


@dataclass(frozen=True, eq=False)
class PrivacyAccount:
    """The budget of one hospital's patients.

    Attributes:
        store: of the hospital; a store is open in one process at a time.
        hospital: whose patients.
        limit: the most that all runs together may cost these patients.
    """

    store: Store
    hospital: str
    limit: Guarantee

    def once(
        self,
        reference: str,
        guarantee: PatientGuarantee,
        run: Callable[[], bytes],
        **details: float,
    ) -> bytes:
        """The result of a mechanism that runs at most once for this reference.

        Args:
            reference: names what is computed from what: equal ones must mean equal mechanisms on
                equal data (`reference_of`).
            guarantee: of the mechanism alone.
            run: the mechanism; it is not run where the result is kept already.
            details: `noise_multiplier`, `rate` and `steps` of sampled Gaussians, which compose
                better than by adding up.

        Raises:
            LedgerError: the limit would be exceeded; nothing was charged or run.
            StorageError: the store cannot be written.
        """
        name = f"private/{self.hospital}/{reference}"
        event = PrivacyEvent(
            reference=reference,
            mechanism=guarantee.mechanism,
            guarantee=Guarantee(epsilon=guarantee.epsilon, delta=guarantee.delta),
            details=dict(details),
        )
        with self.store.transaction() as tx:
            kept = tx.memory.get(name)
            if kept is not None:
                return kept
            tx.privacy.charge(self.hospital, event, self.limit, compose=composed)
        result = run()
        with self.store.transaction() as tx:
            tx.memory.put(name, result)
        return result

    @property
    def spent(self) -> Guarantee:
        """What all mechanisms so far amount to."""
        return self.spent_by(lambda _event: True)

    def spent_by(self, chosen: Callable[[PrivacyEvent], bool]) -> Guarantee:
        """What the chosen events so far amount to."""
        with self.store.view() as tx:
            return composed([one for one in tx.privacy.events(self.hospital) if chosen(one)])


@contextmanager
def budget_in(store: Path | Store) -> Iterator[Store]:
    """The store of budgets for a block; one that is open already stays open.

    Raises:
        StorageError: it is open in another process, or cannot be written.
    """
    if isinstance(store, Store):
        yield store
        return
    with Store.open(store) as opened:
        yield opened


class PatientCost(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs on one store have cost one hospital's patients.

    Attributes:
        fits, alignments: how many mechanisms were charged of either kind.
        behind_the_model: what fits amount to, for the patients whom they learnt from.
        asked_about: what alignments amount to, for the patients whom peers were asked about.
        together: both, for a patient whom both are about.
        recoveries: how often the store was lost or turned back. Each counts with the whole limit
            in all three, as nobody knows what was charged before.
    """

    fits: int
    alignments: int
    behind_the_model: Guarantee
    asked_about: Guarantee
    together: Guarantee
    recoveries: int = 0


def costs_in(store: Path) -> dict[str, PatientCost]:
    """What every hospital's patients have paid, by hospital; empty where nothing was charged.

    Raises:
        StorageError: there is no store, or it is damaged or of a newer version.
    """
    if store.is_dir() and not (store / DATABASE).exists():
        raise StorageError(
            "there is no store in this folder",
            where=str(store),
            expected="the folder that privacy.store names, or SITE/store of a site",
        )
    found = {}
    with Store.open(store, access=Access.READ) as opened, opened.view() as tx:
        for hospital in tx.privacy.budgets():
            events = tx.privacy.events(hospital)
            lost = [event for event in events if event.mechanism == UNKNOWN]
            alignments = [event for event in events if is_alignment(event)]
            fits = [one for one in events if not is_alignment(one) and one.mechanism != UNKNOWN]
            found[hospital] = PatientCost(
                fits=len(fits),
                alignments=len(alignments),
                behind_the_model=composed([*lost, *fits]),
                asked_about=composed([*lost, *alignments]),
                together=together(add_up(lost), composed(fits), composed(alignments)),
                recoveries=len(lost),
            )
    return found


def is_alignment(event: PrivacyEvent) -> bool:
    """Whether an event is about patients that were asked about, and no private fit."""
    return event.mechanism == "Gaussian"


def together(*parts: Guarantee) -> Guarantee:
    """What guarantees about the same patients add up to."""
    return Guarantee(
        epsilon=sum(one.epsilon for one in parts), delta=min(1.0, sum(one.delta for one in parts))
    )


def composed(events: Sequence[PrivacyEvent]) -> Guarantee:
    """What events cost together: sampled Gaussians by their accountant, all others added up."""
    gaussians = [event for event in events if "noise_multiplier" in event.details]
    others = [event for event in events if "noise_multiplier" not in event.details]
    if len(gaussians) < 2:
        return add_up(events)
    delta = max(event.guarantee.delta for event in gaussians)
    mechanisms = tuple(
        SampledGaussian(
            noise_multiplier=float(event.details["noise_multiplier"]),
            rate=float(event.details["rate"]),
            steps=int(event.details["steps"]),
        )
        for event in gaussians
    )
    rest = add_up(others)
    together = Guarantee(
        epsilon=rest.epsilon + spent(mechanisms, delta), delta=min(1.0, rest.delta + delta)
    )
    # Both bounds hold; the accountant's is the lower one but for rounding.
    return min(together, add_up(events), key=lambda one: (one.epsilon, one.delta))


def reference_of(samples: Samples, patients: Patients, target: PrivacyTarget, what: str) -> str:
    """Names one fit: equal for equal rows, patients, target and kind of model.

    It stays in the hospital's own store: a hash of patients' data is still about patients.
    """
    digest = hashlib.blake2b(digest_size=16, person=b"sf-private-fit")
    for array in (samples.features, samples.labels, patients.of_row):
        digest.update(str(array.shape).encode() + array.dtype.str.encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(msgspec.json.encode([what, samples.classes, target]))
    return digest.hexdigest()
