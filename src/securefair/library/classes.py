"""Data sets whose labels are any names -> the same with classes numbered from 0."""

from __future__ import annotations

from collections.abc import Mapping

from securefair.data import ParticipantData, Samples, arrays_of
from securefair.data.class_names import named_classes
from securefair.user.data_sets import are_two_data_sets


def numbered(
    hospitals: Mapping[str, object], *, at_least: int
) -> tuple[Mapping[str, object], tuple[str, ...] | None]:
    """The same data with classes numbered from 0, and the names of the classes where these are new.

    Whatever says its classes itself (`Samples`, `ParticipantData`) stays as it is.

    Args:
        hospitals: data sets by name, as `collaborate` takes them.
        at_least: classes that a given model tells apart; labels below it are its numbers.

    Raises:
        DataError: something is no data set.
    """
    sets = {
        name: list(given) if are_two_data_sets(given) else [given]
        for name, given in hospitals.items()
    }
    if any(isinstance(one, Samples | ParticipantData) for parts in sets.values() for one in parts):
        return hospitals, None
    arrays = {name: [arrays_of(one, where=name) for one in parts] for name, parts in sets.items()}
    found = named_classes([y for parts in arrays.values() for _, y in parts], at_least=at_least)
    if found is None:
        return hospitals, None
    labels, names = iter(found[0]), found[1]
    renamed = {name: [(x, next(labels)) for x, _ in parts] for name, parts in arrays.items()}
    return {n: tuple(p) if len(p) == 2 else p[0] for n, p in renamed.items()}, names
