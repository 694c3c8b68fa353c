"""A data set becomes participants: who trains on what, decides by what and is tested on what."""

from __future__ import annotations

from typing import Literal

import numpy as np

from securefair.data import ParticipantData, Samples, participant_rng, stratified_rows
from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition import NaturalIdPartitioner, Partitioner
from securefair_lab.data.partition.following import follow
from securefair_lab.data.pool import DataSet, Pool, Rows

TestPart = Literal["published", "following", "site", "shared", "own"]
ValidationPart = Literal["none", "shared", "own"]


def divide(
    source: DataSet,
    partitioner: Partitioner | None = None,
    *,
    seed: int,
    test: TestPart = "published",
    test_fraction: float = 0.2,
    validation: ValidationPart = "none",
    validation_fraction: float = 0.1,
) -> list[ParticipantData]:
    """The participants of a data set.

    First comes out what is shared, then the rest is divided, then each gives up what is its own.
    What several participants share is one object.

    Args:
        source: the data set.
        partitioner: divides the training pool among "P1", "P2", ...; None for the data set's own
            sites, in the order of their first sample.
        seed: of all draws.
        test: "published" tests everyone on the data set's test part (CYCle, CFFL, FairSL);
            "following" divides that part so that each participant is tested on the mixture of
            classes it trains on (DPFL); "site" on that part's samples of the participant's own
            site; "shared" on one part held out before dividing; "own" on a part of its own
            samples.
        test_fraction: held out for "shared" and "own", in (0, 1).
        validation: "shared" takes one part for all out of the training pool before dividing
            (CFFL's server holds it), "own" a part of each participant's training samples (DPFL).
        validation_fraction: of the training samples, in (0, 1).

    Raises:
        ConfigError: a choice that the data set does not have, or a fraction out of range.
        DataError: the samples cannot be divided so, or someone would have nothing to be tested on.
    """
    _check(source, partitioner, test, validation)
    rng = np.random.default_rng(seed)
    pool, shared_test, shared_validation = source.train, None, None
    if test == "published":
        assert source.test is not None  # checked above
        shared_test = source.test.samples()
    if test == "shared":
        pool, shared_test = _take_out(pool, test_fraction, rng)
    if validation == "shared":
        pool, shared_validation = _take_out(pool, validation_fraction, rng)
    if partitioner is None:
        partitioner = _sites_of(source, pool)
    parts = partitioner.partition(pool.labels, rng)
    names = (
        partitioner.names
        if isinstance(partitioner, NaturalIdPartitioner)
        else tuple(f"P{n}" for n in range(1, len(parts) + 1))
    )
    own_tests = _own_tests(source, pool, parts, names, test, rng)
    participants = []
    for n, (name, rows) in enumerate(zip(names, parts, strict=True)):
        own = participant_rng(name, seed)
        tested, checked = shared_test, shared_validation
        try:
            if test == "own":
                rows, held = _hold(pool, rows, test_fraction, own)
                tested = pool.features_of(held)
            if validation == "own":
                rows, held = _hold(pool, rows, validation_fraction, own)
                checked = pool.features_of(held)
        except DataError as error:
            raise error.about(f"participant {name}") from error
        participants.append(
            ParticipantData(
                name,
                pool.features_of(rows),
                tested if tested is not None else own_tests[n],
                checked,
            )
        )
    return participants


def _check(
    source: DataSet, partitioner: Partitioner | None, test: TestPart, validation: ValidationPart
) -> None:
    for where, value, known in (
        ("test", test, ("published", "following", "site", "shared", "own")),
        ("validation", validation, ("none", "shared", "own")),
    ):
        if value not in known:
            raise ConfigError("unknown choice", where=where, found=value, expected=", ".join(known))
    if partitioner is None and source.train.sites is None:
        raise ConfigError(
            f"data set {source.name!r} has no participants of its own",
            where="partitioner",
            hint="Give one, for example IidPartitioner(participants=5)",
        )
    if test in ("published", "following", "site") and source.test is None:
        raise ConfigError(
            f"data set {source.name!r} comes without a test part",
            where="test",
            found=test,
            expected='"shared" or "own"',
        )
    by_site = partitioner is None and source.test is not None and source.test.sites is not None
    if test == "site" and not by_site:
        raise ConfigError(
            "only natural participants are tested by site",
            where="test",
            found=test,
            expected="a test part with sites, and no partitioner",
        )


def _sites_of(source: DataSet, pool: Pool) -> NaturalIdPartitioner:
    """The sites of a pool; refused where one has no sample left of those in the source."""
    assert source.train.sites is not None  # checked by `_check`
    assert pool.sites is not None
    lost = sorted(set(source.train.sites) - set(pool.sites))
    if lost:
        raise DataError(
            "nothing is left to train on after the shared parts",
            where=f"site {lost[0]}",
            hint="Share less, or hold out of each participant's own samples",
        )
    return NaturalIdPartitioner(ids=pool.sites)


def _take_out(pool: Pool, fraction: float, rng: np.random.Generator) -> tuple[Pool, Samples]:
    kept, held = stratified_rows(pool.labels, fraction, rng)
    return pool.take(kept), pool.features_of(held)


def _hold(pool: Pool, rows: Rows, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    kept, held = stratified_rows(pool.labels[rows], fraction, rng)
    return rows[kept], rows[held]


def _own_tests(
    source: DataSet,
    pool: Pool,
    parts: list[Rows],
    names: tuple[str, ...],
    test: TestPart,
    rng: np.random.Generator,
) -> list[Samples]:
    """Each participant's part of the published test part; empty where the choice is another."""
    if test == "following":
        assert source.test is not None  # checked by `_check`
        rows = follow([pool.labels[part] for part in parts], source.test.labels, rng)
        return [source.test.features_of(own) for own in rows]
    if test == "site":
        assert source.test is not None  # checked by `_check`
        assert source.test.sites is not None
        sites = np.array(source.test.sites)
        found = [np.flatnonzero(sites == name) for name in names]
        for name, own in zip(names, found, strict=True):
            if not len(own):
                raise DataError("the test part has no samples of a site", where=f"site {name}")
        return [source.test.features_of(own) for own in found]
    return []
