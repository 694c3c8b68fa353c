"""Data sets by hospital -> participants, through a public extractor where there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from securefair.config import RunConfig
from securefair.data import ParticipantData, Samples, arrays_of
from securefair.data.dataset import TeacherModel
from securefair.data.shared_rows import COPIED
from securefair.errors import ConfigError, DataError
from securefair.library.models import is_module
from securefair.model.teachers import EstimatorTeacher, teacher_of
from securefair.user.data_sets import are_two_data_sets, participant_of

if TYPE_CHECKING:
    from torch import Tensor, nn

ENOUGH = 5
"""Equal samples from which part of a set is taken for a copy; fewer may be chance."""

EXTRACTED_AT_ONCE = 256
"""Samples that go through an extractor together."""


def participants(
    hospitals: Mapping[str, object], extractor: nn.Module | None, config: RunConfig
) -> list[ParticipantData]:
    """Everyone's samples as features in [-1, 1] and labels.

    Args:
        hospitals: data sets by name, as `collaborate` takes them.
        extractor: see `collaborate`.
        config: checked.

    Raises:
        DataError: data cannot be used; names the hospital, and the sample where there is one.
    """
    everyone = []
    for name, given in hospitals.items():
        own = given if extractor is None else _extracted(given, extractor, name)
        one = participant_of(
            name,
            own,
            test_fraction=config.data.test_fraction,
            seed=config.run.seeds[0],
            feature_range=config.data.feature_range,
        )
        if len(one.train) < 2:
            raise DataError(
                "too few samples to train on",
                where=name,
                found=len(one.train),
                expected="at least 2 that are not held out",
            )
        everyone.append(one)
    return everyone


def check_columns(hospitals: Mapping[str, object]) -> None:
    """Refuse data frames whose columns have other names, or another order, than somebody else's:
    features go together by their place.

    Raises:
        DataError: they differ; names the hospital and the first such column.
    """
    first: tuple[str, list[str]] | None = None
    for name, given in hospitals.items():
        for part in given if are_two_data_sets(given) else [given]:
            frame = part[0] if isinstance(part, tuple | list) and len(part) == 2 else None
            columns = list(getattr(frame, "columns", ()))
            if not columns or not all(isinstance(one, str) for one in columns):
                continue  # numbers that pandas gives say nothing
            first = first or (name, columns)
            for at, (own, other) in enumerate(zip(columns, first[1], strict=False)):
                if own != other:
                    raise DataError(
                        "columns of features do not stand in the same order",
                        where=f"{name}, feature {at}",
                        found=own,
                        expected=f"{other}, as at {first[0]}",
                        hint="Order them alike, or give whole tables with label=",
                    )


def check_different(data: Sequence[ParticipantData]) -> None:
    """Refuse patients who would be in a training and in a test part: results would be too good.

    Where few values are possible, equal samples are usual and say nothing. All may be tested on
    the same samples.

    Raises:
        DataError: two hospitals bring the same samples, or one tests on those it trains on, or
            most of them are.
    """
    known: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for own in data:
        train, test = _rows(own.train), _rows(own.test)
        if _are_copies(train, test):
            raise DataError(
                "a model is tested on the samples that it was trained on",
                where=own.name,
                found=_shared(train, test),
                expected="other samples, or one data set, of which a part is held out",
            )
        if own.test_rows is not None:  # a part of the same data
            train, test = np.concatenate([train, test]), test[:0]
        for name, (trained, tested) in known.items():
            for other, content in ((trained, train), (trained, test), (tested, train)):
                if len(other) and _are_copies(other, content):
                    raise DataError(
                        "two hospitals bring the same samples",
                        where=own.name,
                        found=f"those of {name}: {_shared(other, content)}",
                        expected="a data set of its own for each",
                    )
        known[own.name] = train, test


def _shared(known: NDArray[np.float64], asked: NDArray[np.float64]) -> str:
    return f"{int(np.isin(asked, known).sum())} of {len(asked)} are the same"


def _are_copies(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Whether two sets are the same, or most of the smaller one stands in the other."""
    if len(first) == len(second) and (np.sort(first) == np.sort(second)).all():
        return True
    smaller, larger = sorted((first, second), key=len)
    count = int(np.isin(smaller, larger).sum())
    share = count / max(len(smaller), 1)
    _, twins = np.unique(larger, return_counts=True)
    usual = twins[twins > 1].sum() / max(len(larger), 1)
    return count >= ENOUGH and share >= COPIED and usual < share / 2


def _rows(samples: Samples) -> NDArray[np.float64]:
    """A number of every sample with what is known of it, (B,), equal for equal ones."""
    flat = np.ascontiguousarray(samples.features.reshape(len(samples), -1))
    parts = [flat, samples.labels[:, None]]
    parts += [] if samples.values is None else [samples.values]
    numbers = np.concatenate(parts, axis=1)
    rows: NDArray[np.float64] = (
        numbers * np.random.default_rng(0).normal(size=numbers.shape[1])
    ).sum(axis=1)
    return rows


def with_teachers(
    data: Sequence[ParticipantData], teachers: Mapping[str, object]
) -> list[ParticipantData]:
    """The same with the models that answer for some of them.

    Raises:
        ConfigError: nobody has that name, or no such model may teach.
    """
    names = [own.name for own in data]
    for name in teachers:
        if name not in names:
            raise ConfigError(
                "nobody of this name takes part",
                where="teachers",
                found=name,
                expected=f"one of {', '.join(names)}",
            )
    return [
        replace(own, teacher=_teacher(teachers[own.name], own.name))
        if own.name in teachers
        else own
        for own in data
    ]


def _teacher(given: object, name: str) -> TeacherModel:
    if isinstance(given, str | Path):
        return teacher_of(str(given), where=f"teachers, {name}")
    return EstimatorTeacher(given)


def check_hospitals(hospitals: Mapping[str, object], extractor: object) -> None:
    """Refuse what is no set of hospitals by name.

    Raises:
        ConfigError: fewer than two hospitals, a name is no text, or there is no extractor in the
            extractor's place.
    """
    if not isinstance(hospitals, Mapping):
        raise ConfigError(
            "hospitals come by name",
            where="hospitals",
            found=type(hospitals).__name__,
            expected="a dict of name: (training data set, test data set), or name: data set",
        )
    for name in hospitals:
        if not isinstance(name, str) or not name:
            raise ConfigError(
                "the name of a hospital is a text", where="hospitals", found=repr(name)
            )
    if len(hospitals) < 2:
        raise ConfigError(
            "a collaboration needs at least two hospitals",
            where="hospitals",
            found=", ".join(hospitals) or "nobody",
            hint="Divide the data, or train alone with torch",
        )
    if extractor is not None and not is_module(extractor):
        raise ConfigError(
            "an extractor is a torch module",
            where="extractor",
            found=type(extractor).__name__,
            expected="torch.nn.Module",
        )


def _extracted(given: object, extractor: nn.Module, name: str) -> object:
    """The same data sets with the extractor's features in the place of samples."""
    if isinstance(given, ParticipantData):
        given = (given.train, given.test)
    if are_two_data_sets(given):
        return tuple(_features(part, extractor, name) for part in given)
    return _features(given, extractor, name)


def _features(given: object, extractor: nn.Module, name: str) -> object:
    if isinstance(given, Samples):
        given = (given.features, given.labels)
    inputs, labels = arrays_of(given, where=name)
    if inputs.dtype.kind not in "fiub":
        raise DataError("features are not numbers", where=name, found=str(inputs.dtype))
    import torch  # as whoever made the extractor has

    tensor = torch.from_numpy(np.ascontiguousarray(inputs)).to(torch.float32)
    modes = [(part, part.training) for part in extractor.modules()]
    extractor.eval()  # batch statistics and dropout belong to its own training
    try:
        with torch.no_grad():
            batches = torch.split(tensor, EXTRACTED_AT_ONCE)
            parts = [_checked_features(extractor(one), len(one), name) for one in batches]
    except DataError:
        raise
    except Exception as error:  # whatever foreign code raises is its own fault
        raise DataError(
            "the extractor cannot take these samples",
            where=name,
            found=f"shape {tuple(tensor.shape)}, {type(error).__name__}: "
            + str(error).partition("\n")[0],
        ) from error
    finally:
        for part, training in modes:  # one that was frozen in a network that trains stays so
            part.training = training
    return torch.cat(parts).flatten(1).double().numpy(), labels


def _checked_features(given: object, samples: int, name: str) -> Tensor:
    """What an extractor gave of so many samples.

    Raises:
        DataError: these are no features of each.
    """
    from torch import Tensor

    if not isinstance(given, Tensor) or given.shape[:1] != (samples,):
        shape = f" {tuple(given.shape)}" if isinstance(given, Tensor) else ""
        raise DataError(
            "the extractor gives no features of every sample",
            where=name,
            found=f"{type(given).__name__}{shape}",
            expected=f"a tensor ({samples}, ...)",
        )
    return given
