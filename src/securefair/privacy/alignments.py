"""Alignments with peers that tell little of any one patient: a noisy mean of patients' votes.

Whether a hospital asks a peer, and answers it, follows from its reputation of that peer, which it
forms on answers about its own patients. So its patients show in what it does. Here each of them
has one vote in [-1, 1] on each peer, and what becomes an alignment is the mean vote with Gaussian
noise. Another patient in one's place changes the mean over a public number n by at most 2/n: a vote
of -1 becomes 1.

A vote compares two directions in the space of one patient's logits, as CYCle (Eq. 6) compares two
gradients: where the label pulls a model, and where the peer's answer pulls it. The model is the
hospital's private one, which was paid for already. Its own would carry every patient into every
vote.

Votes must depend on one patient each. They do where an answer tells the logits of every patient
apart (the release `logits`); a projection mixes all patients into every reconstructed logit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from securefair.data.dataset import Samples
from securefair.errors import LedgerError, ModelError
from securefair.privacy.accounting import SampledGaussian, noise_multiplier, spent
from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
from securefair.privacy.patients import Patients
from securefair.privacy.randomness import NoiseSource
from securefair.storage import Guarantee

if TYPE_CHECKING:
    from securefair.model.heads import Head

Array = NDArray[np.float64]
TURNED = 2.0
"""From one end of the votes to the other: the most by which a patient changes their sum."""
ROUNDING_MARGIN = 1 + 1e-6
"""The mean is exact to about 2^-50, which its sensitivity must cover."""
Once = Callable[[str, Callable[[], float]], float]


def votes(own: Array, answered: Array, labels: NDArray[np.int64], temperature: float) -> Array:
    """Whether a peer's answer pulls each patient's prediction the way its label does.

    The cosine of two gradients of a patient's logits: of the cross-entropy, and of the distillation
    loss. For two classes it is 1 or -1, or 0 where the answer says the same as the model.

    Args:
        own: (n, M) logits of a model that is private for these patients.
        answered: (n, M) logits of the peer.
        labels: (n,).
        temperature: of the distillation loss.

    Returns:
        (n,), in [-1, 1]; row i depends on row i of the arguments only.

    Raises:
        ModelError: the shapes differ, or an answer is NaN or infinite.
    """
    if own.shape != answered.shape or len(labels) != len(own):
        raise ModelError("an answer does not fit", found=answered.shape, expected=own.shape)
    if not np.isfinite(answered).all():
        raise ModelError("an answer is NaN or infinite")
    hard = softmax(own, axis=1) - np.eye(own.shape[1])[labels]
    soft = softmax(own / temperature, axis=1) - softmax(answered / temperature, axis=1)
    lengths = np.linalg.norm(hard, axis=1) * np.linalg.norm(soft, axis=1)
    products = (hard * soft).sum(axis=1)
    found: Array = np.divide(products, lengths, out=np.zeros(len(own)), where=lengths > 0)
    return np.clip(found, -1.0, 1.0)


class PrivateAlignments:
    """One hospital's alignments with its peers: one noisy mean vote for each.

    Formal guarantees:
        All alignments that it forms, of at most `peers` peers, are together
        (epsilon, delta)-differentially private, and so is everything that is decided by them.
        The number of patients is public; of neighbours, one has another patient's rows, or none,
        in the place of all rows of one patient. Where the number itself differs by one, the noise
        does, too, and epsilon is larger: of 1, at delta 0.001 and for one peer, at most 1.42 with
        20 patients, and 1.08 with 100. The model must be private already: its cost adds up with
        this one, where nothing is in the patient's place. It holds against teachers that follow the
        protocol, so that row i of an answer depends on patient i only, and with noise from
        `SystemNoise` only.

    Edge cases:
        The same peer again: the first value, without another charge. The peer's answers come from
        one private model, which no round changes.
        A patient with more rows than `rows_per_patient`: the mean vote of some, chosen once.

    Attributes:
        once: see the argument.
        others: what other alignments on these patients cost, in runs that have the same account.

    Args:
        model: the hospital's private model.
        samples: of the hospital.
        patients: of those rows.
        target: what all alignments together may cost.
        peers: with whom alignments are formed, at most.
        temperature: of the distillation loss.
        noise: where it comes from, for each peer; for the choice of rows, of no name.
        once: gives what an earlier process formed of that peer, or charges and calls its second
            argument; None: nothing is kept beyond this object.

    Raises:
        ConfigError: delta is above 1 / patients, or no noise reaches the target.
    """

    def __init__(
        self,
        model: Head,
        samples: Samples,
        patients: Patients,
        target: PrivacyTarget,
        *,
        peers: int,
        temperature: float,
        noise: Callable[[str], NoiseSource],
        once: Once | None = None,
    ) -> None:
        target.check(patients.count)
        self.target = target
        self.noise_multiplier = noise_multiplier(target.epsilon, target.delta, steps=peers)
        self._temperature = temperature
        self.once = once
        self._rows = patients.limited(target.rows_per_patient, noise(""))
        self._patients = patients.take(self._rows)
        self._own = model.logits(samples.features)
        self._labels = samples.labels
        self._noise = noise
        self._peers = peers
        self._formed: dict[str, float] = {}
        self._earlier = 0
        self.others = Guarantee(epsilon=0.0, delta=0.0)

    @property
    def allowed(self) -> PatientGuarantee:
        """Of alignments with all peers."""
        return self._guarantee(self._peers)

    @property
    def guarantee(self) -> PatientGuarantee:
        """Of the alignments that were formed so far, all together."""
        return self._guarantee(max(self._earlier, len(self._formed)))

    @property
    def spent(self) -> Guarantee:
        """Of all alignments of these patients so far, other runs' included."""
        formed = self.guarantee
        return Guarantee(
            epsilon=self.others.epsilon + formed.epsilon, delta=self.others.delta + formed.delta
        )

    def formed_earlier(self, peers: int) -> None:
        """Count the alignments of an earlier process, which this one will form again alike."""
        self._earlier = peers

    def alignment(self, peer: str, answered: Array) -> float:
        """The private stand-in for CYCle's alignment with that peer, in [-1, 1].

        Args:
            peer: who answered.
            answered: (n, M), its logits on all samples of the hospital.

        Raises:
            LedgerError: alignments with more peers than were paid for; nothing was formed.
            ModelError: as `votes`.
        """
        if peer not in self._formed:
            if len(self._formed) == self._peers:
                raise LedgerError(
                    "one more alignment would cost more than was allowed",
                    where=peer,
                    found=self._peers + 1,
                    expected=f"at most {self._peers} peers",
                )
            cast = votes(self._own, answered, self._labels, self._temperature)
            form = functools.partial(self._noisy_mean, peer, cast)
            self._formed[peer] = form() if self.once is None else self.once(peer, form)
        return self._formed[peer]

    def _noisy_mean(self, peer: str, cast: Array) -> float:
        """Every call is another release."""
        mean = float(self._patients.weights() @ cast[self._rows]) / self._patients.count
        moved = ROUNDING_MARGIN * TURNED / self._patients.count  # at most, by one patient
        noisy = self._noise(peer).gaussian_around(np.array(mean), moved * self.noise_multiplier)
        return float(np.clip(noisy, -1.0, 1.0))

    def _guarantee(self, alignments: int) -> PatientGuarantee:
        mechanism = SampledGaussian(noise_multiplier=self.noise_multiplier, steps=alignments)
        return PatientGuarantee(
            mechanism="Gaussian",
            epsilon=min(self.target.epsilon, spent((mechanism,), self.target.delta)),
            delta=self.target.delta if alignments else 0.0,
        )
