"""One participant's data set, or two, as samples; everyone's with one number of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from securefair.data import ParticipantData, hold_out, samples_of
from securefair.errors import DataError


def participant_of(
    name: str,
    data: object,
    *,
    test_fraction: float,
    seed: int,
    feature_range: tuple[float, float] | None = None,
) -> ParticipantData:
    """One participant from its data set, or from a pair of training and test data sets.

    Args:
        name: of the participant.
        data: `ParticipantData`, a pair (training, test), or one data set of which a part is held
            out; each data set as `samples_of` takes it. A pair of two arrays is one data set.
        test_fraction: of one data set, in (0, 1).
        seed: of the draw.
        feature_range: see `samples_of`.

    Raises:
        DataError: see `samples_of`.
    """
    if isinstance(data, ParticipantData):
        data = (data.train, data.test)
    if are_two_data_sets(data):
        train = samples_of(data[0], where=f"{name}, training", feature_range=feature_range)
        test = samples_of(data[1], where=f"{name}, test", feature_range=feature_range, learns=False)
        return ParticipantData(name, train, test)
    samples = samples_of(data, where=name, feature_range=feature_range)
    return hold_out(name, samples, test_fraction, seed)


def are_two_data_sets(data: object) -> TypeGuard[tuple[object, object]]:
    """Whether a pair is (training, test) rather than the arrays (features, labels) of one."""
    return (
        isinstance(data, tuple)
        and len(data) == 2
        and not any(hasattr(part, "dtype") for part in data)  # a table of features has dtypes
    )


def alike(everyone: list[ParticipantData], *, at_least: int = 0) -> list[ParticipantData]:
    """The same participants with one number of classes, the largest.

    Args:
        everyone: at least one.
        at_least: classes that are known of besides the labels.

    Raises:
        DataError: their samples differ in shape, or there is one class only.
    """
    states = [one for own in everyone for one in (*own.earlier, own)]
    parts = [(own.name, part) for own in states for part in (own.train, own.test)]
    width = everyone[0].train.common.features.shape[1]
    for name, part in parts:
        if part.common.features.shape[1] != width:
            raise DataError(
                f"the number of features differs from {everyone[0].name}'s",
                where=name,
                found=part.common.features.shape[1],
                expected=width,
                hint="Everyone needs the same features in the same order",
            )
    shapes = [(name, part.shape) for name, part in parts if part.shape is not None]
    for name, shape in shapes:
        if shape != shapes[0][1]:
            raise DataError(
                f"samples have another shape than those of {shapes[0][0]}",
                where=name,
                found=shape,
                expected=shapes[0][1],
                hint="Everyone needs the same axes in the same order, such as colours first",
            )
    classes = max(at_least, *(part.classes for _, part in parts))
    if classes < 2:
        raise DataError("there is one class only: nothing to tell apart", found=classes)
    return [_of_classes(own, classes) for own in everyone]


def _of_classes(own: ParticipantData, classes: int) -> ParticipantData:
    return replace(
        own,
        train=replace(own.train, classes=classes),
        test=replace(own.test, classes=classes),
        earlier=tuple(_of_classes(before, classes) for before in own.earlier),
    )
