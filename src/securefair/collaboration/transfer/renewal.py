"""What happens when a hospital's own patients change: CYCle's reputations on top of a transfer.

A hospital asks once, and again only when its own patients changed. Until then, and where nobody
answers, what peers said is carried over to the new patients: it is a function of the features, so
it says what they would have answered about these (`HospitalExchange.carried`). That costs no
answer. At first everybody answers everybody, for nobody knows anything of anybody. Later a teacher
answers with the probability of its own reputation of who asks, as in CYCle (Eq. 9): the averaged
weight that its own patients gave that one's answer. Whether it answers tells one bit of it
(`protocol.flows`, Offer).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from securefair.collaboration.transfer.notes import TransferNotes
from securefair.collaboration.transfer.questions import HospitalExchange
from securefair.data.dataset import ParticipantData
from securefair.model.seeds import derive_seed
from securefair.model.transfer import Degree, OwnFit, Transferred, own_fit


def fitted(data: ParticipantData, degree: Degree, seed: int) -> OwnFit:
    """A hospital's own fits, with the folds that seed and name draw."""
    rng = np.random.default_rng(derive_seed(seed, "folds", data.name))
    return own_fit(data.train, degree, rng=rng)


def reputations(transferred: Transferred, peers: Iterable[str]) -> dict[str, float]:
    """Of every peer, in [0, 1]: its averaged weight; 1 where none is known, 0 if it was left out.

    Weights exist where every answer was opened by itself.
    """
    trust = transferred.trust
    return {
        name: 0.0 if name in trust.left_out else min(1.0, max(0.0, trust.weights.get(name, 1.0)))
        for name in peers
    }


def carried_over(
    notes: TransferNotes,
    left_out: Collection[str],
    earlier: HospitalExchange,
    later: HospitalExchange,
) -> TransferNotes:
    """What was opened about earlier patients, as if these had been the later ones.

    Args:
        notes: of the exchange that was.
        left_out: teachers whose answers are no functions; nothing of them is carried over.
        earlier, later: exchanges of this hospital.
    """
    kept = {name: told for name, told in notes.released.items() if name not in left_out}
    return TransferNotes(
        released={name: earlier.carried(told, later) for name, told in kept.items()},
        senders=tuple(name for name in notes.senders if name not in left_out),
    )
