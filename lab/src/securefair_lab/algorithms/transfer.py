"""Transfer: everybody's own fit, corrected towards its peers as far as its own patients agree.

The oracle of the encrypted kind. One exchange: every teacher answers from the fit on its *own*
patients only, never from what it deploys, so that nothing that was opened ever reaches an answer.
Sources: hypothesis transfer with an offset (Kuzborskij and Orabona, ICML 2013), averaging by
exp(-loss) (pseudo-Bayesian model averaging; Yao et al., Bayesian Analysis 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.data import ParticipantData, Samples
from securefair.model import balance_by_weights, quantize_at
from securefair.model.transfer import (
    FEWEST_SUMMED,
    Degree,
    Fitted,
    Opened,
    OwnFit,
    Transferred,
    asked_about,
    asked_peers,
    label_free_reconstructor,
    numbers_a_logit,
    rows_by_patient,
    transfer,
    transfer_each,
    with_leaves,
)
from securefair.model.transfer.sums import NONE, FitSum, sum_of, transfer_sum
from securefair.worth import check_participants, own_fits
from securefair_lab.algorithms.releases import LogitsRelease, ProjectionRelease, Release, Rounding
from securefair_lab.algorithms.settings import check_settings

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """The settings of a transfer.

    Args:
        degree: of everybody's fit: 1 for linear logits, 2 for quadratic ones.
        leaves: whether everybody answers from its best fit of features and of leaves of the public
            trees, `fit = "trees"`; of degree 1.
        release: what of a teacher's logits reaches a student.
        opened: "each" answer or only their "mean"; None for "mean" from three teachers on.
        peers: how many others each hospital asks at most, 2 or more; the seed draws whom.
        sums: what hospitals add up instead of asking about patients, by name; "none" for nothing.
        rounding: of the teachers' fits; None: as they were fitted.

    Raises:
        ConfigError: a setting is out of range.
    """

    degree: Degree = 1
    leaves: bool = False
    release: Release = field(default_factory=ProjectionRelease)
    opened: Opened | None = None
    peers: int = defaults.PEERS
    sums: str = NONE
    rounding: Rounding | None = None
    name: str = "transfer"

    def __post_init__(self) -> None:
        check_settings(
            self,
            degree=(self.degree in (1, 2), "1 or 2"),
            leaves=(not self.leaves or self.degree == 1, "False with degree 2"),
            opened=(self.opened in (None, "each", "mean"), '"each", "mean" or None'),
            peers=(self.peers >= 2, "2 or more"),
        )

    def opened_of(self, teachers: int) -> Opened:
        """What a student of so many teachers opens."""
        return self.opened or ("mean" if teachers >= FEWEST_SUMMED else "each")


@dataclass(frozen=True, eq=False)
class TransferResult:
    """What a transfer leaves at every hospital, by name.

    Attributes:
        own: the fits on own patients, from which everyone answers.
        asked: its teachers.
        transferred: the deployed model and what was trusted.
    """

    own: Mapping[str, OwnFit]
    asked: Mapping[str, tuple[str, ...]]
    transferred: Mapping[str, Transferred]

    @property
    def models(self) -> dict[str, Fitted]:
        """The deployed ones."""
        return {name: result.model for name, result in self.transferred.items()}


def run_transfer(
    settings: Transfer,
    participants: Sequence[ParticipantData],
    seed: int,
    *,
    own: Mapping[str, OwnFit] | None = None,
) -> TransferResult:
    """The whole algorithm, from top to bottom.

    Args:
        settings: of the transfer.
        participants: all of them.
        seed: of folds, and of whom one asks.
        own: everybody's fits where they were made already (`own_fits`).

    Raises:
        ConfigError: participants that cannot learn together.
        DataError: a participant has no patients.
    """
    check_participants(participants)
    if own is None:
        own = own_fits(participants, settings.degree, seed)
    names = [one.name for one in participants]
    asked = asked_peers(names, settings.peers, seed)
    opened = settings.opened_of(max(len(teachers) for teachers in asked.values()))
    summed, transferred = sum_of(settings.sums), {}
    if summed is not None:
        return TransferResult(own, asked, {name: added(summed, own, name, asked) for name in names})
    for student in participants:
        answers = {
            teacher: received_logits(settings, own[teacher], student.train)
            for teacher in asked[student.name]
        }
        transferred[student.name] = combined(
            own[student.name], answers, opened, settings.degree, leaves=settings.leaves
        )
    return TransferResult(own, asked, transferred)


def added(
    summed: FitSum, own: Mapping[str, OwnFit], student: str, asked: Mapping[str, tuple[str, ...]]
) -> Transferred:
    """What a student makes of the sum over those whom it asks."""
    mean = np.mean([summed.told(own[name]) for name in asked[student]], axis=0)
    features = own[student].samples.features.shape[1]
    return transfer_sum(own[student], summed.opened(mean, len(asked[student]), features))


def received_logits(settings: Transfer, teacher: OwnFit, patients: Samples) -> Array:
    """What a student makes of one teacher's answer, (n, L): from its own fit, as released."""
    model = teacher.model
    if settings.leaves:
        best = with_leaves(teacher.best_of_all)
        model = best.on_mapped()
        patients = replace(patients, features=best.trees.mapped(patients.features))
    if settings.rounding is None:
        logits = model.logits(patients.features)
    else:
        folded = balance_by_weights(model.folded(), settings.rounding.row_norm)
        logits = quantize_at(folded, settings.rounding.log2_scales).logits(patients.features)
    release = settings.release
    if isinstance(release, LogitsRelease):
        return logits
    q = numbers_a_logit(release.q, len(patients), int(patients.features.shape[1]), settings.degree)
    released = replace(release, q=q)
    rows = rows_by_patient(released.rows(asked_about(patients)), len(patients))
    reconstructor = label_free_reconstructor(patients, rows, settings.degree, release.noise(rows))
    return reconstructor.logits(rows @ logits)


def combined(
    own: OwnFit,
    answers: Mapping[str, Array],
    opened: Opened,
    degree: Degree,
    *,
    leaves: bool = False,
) -> Transferred:
    """A student's deployed model, of its own fits and the answers that came, which may be none."""
    if not answers:
        return transfer(own, None)
    if opened == "each":
        return transfer_each(own, answers, degree, leaves=leaves)
    return transfer(own, np.mean(list(answers.values()), axis=0), degree, leaves=leaves)
