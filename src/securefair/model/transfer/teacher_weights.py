"""A weight of its own for every teacher, as a reading of whom a hospital's patients confirm.

One more family of settings: each teacher's logits enter the fit as a column whose weight is shrunk
to 0. A teacher with inverted labels gets a weight of 0 or less on most hospitals, but so do honest
ones on some: a reading is no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.model.transfer.alone import OwnFit
from securefair.model.transfer.averaging import averaging_weights, validate
from securefair.model.transfer.families import Family
from securefair.model.transfer.polynomial import Degree
from securefair.model.transfer.surrogate import offset_of

Array = NDArray[np.float64]

WEIGHT_PENALTIES = (1.0, 10.0, 100.0)
SLOPE_PENALTIES = (1.0, 10.0, 100.0, 1e4)


@dataclass(frozen=True, eq=False)
class TeacherWeights:
    """The settings of this family.

    Attributes:
        weights: by teacher's name, averaged over the settings of this family alone.
        family: the settings, each with every teacher's surrogate as a part.
    """

    weights: Mapping[str, float]
    family: Family


def teacher_weights(
    own: OwnFit, answers: Mapping[str, Array], degree: Degree = 1, *, leaves: bool = False
) -> TeacherWeights:
    """Fit the family.

    Args:
        own: the student's own fits.
        answers: (n, L) logits on the student's training patients, by teacher; at least one.
        degree: of the teachers.
        leaves: whether they answer from leaves of the public trees as well.
    """
    columns = np.stack(list(answers.values()), axis=-1)  # (n, L, T)
    teachers = columns.shape[-1]
    settings = [(w, s) for w in WEIGHT_PENALTIES for s in SLOPE_PENALTIES]
    penalties = np.stack(
        [np.append(own.design.penalties(s), np.full(teachers, w)) for w, s in settings]
    )
    offsets = np.zeros((len(settings), *columns.shape[:2]))
    samples = own.samples
    validated = validate(
        own.design.columns(columns),
        samples,
        offsets,
        penalties,
        own.folds,
    )
    by_setting = validated.coefficients[:, -teachers:]
    averaged = averaging_weights(validated.scores) @ by_setting
    return TeacherWeights(
        weights=dict(zip(answers, averaged.tolist(), strict=True)),
        family=Family(
            own.design,
            replace(
                validated,
                coefficients=validated.coefficients[:, :-teachers],
                offsets=np.einsum("nlt,st->snl", columns, by_setting),
                penalties=penalties[:, :-teachers],
            ),
            [
                (by_setting[:, at], offset_of(samples, z, degree, leaves=leaves))
                for at, z in enumerate(answers.values())
            ],
        ),
    )
