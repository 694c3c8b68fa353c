"""Data sets whose labels are any names -> the same with classes numbered from 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from securefair.config.columns import code
from securefair.data import ParticipantData, Samples, arrays_of
from securefair.data.class_names import named_classes
from securefair.errors import ConfigError
from securefair.user.data_sets import are_two_data_sets

Positive = str | int | None
"""A code of the class that sensitivity is of; None for the last class."""


def order_with(positive: Positive, groups: Sequence[Sequence[str]]) -> list[int]:
    """The classes in the order of their numbers: the positive one last.

    Args:
        positive: a code of it.
        groups: the codes of each class.

    Raises:
        ConfigError: no class has that code, or there are more than two classes.
    """
    if positive is None:
        return list(range(len(groups)))
    wanted = code(str(positive))
    if len(groups) > 2:
        raise ConfigError(
            "sensitivity is of one class where there are two, and a mean where there are more",
            where="positive",
            found=f"{len(groups)} classes",
            expected="two classes, or no such argument",
        )
    named = [wanted in map(code, codes) for codes in groups]
    if not any(named):
        raise ConfigError(
            "no class has this code",
            where="positive",
            found=positive,
            expected=", ".join(one for codes in groups for one in codes),
        )
    return sorted(range(len(groups)), key=named.__getitem__)


def numbered(
    hospitals: Mapping[str, object], *, at_least: int, positive: Positive = None
) -> tuple[Mapping[str, object], tuple[str, ...] | None]:
    """The same data with classes numbered from 0, and the names of the classes where these are new.

    Whatever says its classes itself (`Samples`, `ParticipantData`) stays as it is.

    Args:
        hospitals: data sets by name, as `collaborate` takes them.
        at_least: classes that a given model tells apart; labels below it are its numbers.
        positive: a name of a class, which becomes the last one.

    Raises:
        ConfigError: no class is named so, or classes have numbers and no names.
        DataError: something is no data set.
    """
    sets = {
        name: list(given) if are_two_data_sets(given) else [given]
        for name, given in hospitals.items()
    }
    if any(isinstance(one, Samples | ParticipantData) for parts in sets.values() for one in parts):
        _refuse_numbers(positive)
        return hospitals, None
    arrays = {name: [arrays_of(one, where=name) for one in parts] for name, parts in sets.items()}
    found = named_classes([y for parts in arrays.values() for _, y in parts], at_least=at_least)
    if found is None:
        _refuse_numbers(positive)
        return hospitals, None
    order = order_with(positive, [(name,) for name in found[1]])
    numbers = np.argsort(order)
    labels, names = (numbers[one] for one in found[0]), tuple(found[1][at] for at in order)
    renamed = {name: [(x, next(labels)) for x, _ in parts] for name, parts in arrays.items()}
    return {n: tuple(p) if len(p) == 2 else p[0] for n, p in renamed.items()}, names


def _refuse_numbers(positive: Positive) -> None:
    if positive is not None:
        raise ConfigError(
            "labels that are numbers of classes have no codes",
            where="positive",
            found=positive,
            expected="tables with a label, labels that are names, or no such argument",
            hint="Name the class that sensitivity is of 1, the other one 0",
        )
