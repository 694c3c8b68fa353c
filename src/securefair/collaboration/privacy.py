"""What a run says about the privacy of patients: one pair of figures a hospital, and its gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from securefair.config import RunConfig
from securefair.privacy.guarantees import meaning_of
from securefair.records import PrivacyResult
from securefair.storage import Guarantee
from securefair.words import words_of

if TYPE_CHECKING:
    from securefair.collaboration.private import PrivateTeacher

SYSTEM, SEED = "operating system", "seed"
SIMULATED, DECISIONS, FOLLOWED, ROWS, ONE_SEED, RANGES = (
    words_of()(f"caveats.{name}")
    for name in ("simulated", "decisions", "followed", "rows", "one_seed", "ranges")
)
"""What promises do not cover: records hold it in English."""


def gaps_of(config: RunConfig, decides: bool) -> list[str]:
    """What a site's guarantee does not cover, a sentence each.

    Args:
        config: with a [privacy] section.
        decides: whether sites decline by reputations that they formed on their own patients.
    """
    given, table = config.privacy, config.table
    found = []
    if given is not None and (table is None or table.patient_column is None):
        found.append(ROWS)
    if given is not None and decides:
        found.append(DECISIONS if given.asked_epsilon is None else FOLLOWED)
    return found


def privacy_results(
    teachers: Mapping[str, PrivateTeacher],
    *,
    decides: bool,
    alignments: Mapping[str, Guarantee] | None = None,
) -> dict[str, PrivacyResult] | None:
    """Of every hospital whose answers come from a private model; None where there are none.

    Args:
        teachers: by hospital.
        decides: whether hospitals decline by reputations that they formed on their own patients.
            Otherwise nothing that they send after they opened an answer depends on it.
        alignments: what private alignments have cost by now, by hospital, in all runs.
    """
    formed = alignments or {}
    return {name: _result(one, decides, formed.get(name)) for name, one in teachers.items()} or None


def spent_by(
    results: Mapping[str, PrivacyResult] | None, names: Sequence[str]
) -> list[float] | None:
    """Epsilon that each hospital's patients have paid by now: both pairs added up."""
    if results is None:
        return None
    return [results[name].spent_epsilon + (results[name].asked_epsilon or 0.0) for name in names]


def caveats_of(*, ranges_told: bool, seeds: int) -> list[str]:
    """What promises to patients do not cover, whatever the algorithm.

    Args:
        ranges_told: whether ranges of columns come from patients (`RunConfig.tells_ranges`).
        seeds: how many repetitions there are.
    """
    caveats = []
    if ranges_told:
        caveats.append(RANGES)
    if seeds > 1:
        caveats.append(ONE_SEED)
    return caveats


def joined(found: Sequence[PrivacyResult], more: Sequence[str] = ()) -> PrivacyResult:
    """Of one hospital over algorithms, and of one seed where there are several.

    Algorithms whose private models are fitted by the same mechanism answer from the same fit. Where
    mechanisms differ there are two fits, and both cost the same patients: a store has counted both
    already, a simulation has not.

    Args:
        found: its promises, one an algorithm.
        more: caveats besides theirs.
    """
    by_mechanism = {one.mechanism: one for one in found}.values()
    together = max if found[0].noise == SYSTEM else sum
    caveats = {caveat: None for one in found for caveat in one.caveats} | dict.fromkeys(more)
    spent_epsilon = together(one.spent_epsilon for one in by_mechanism)
    spent_delta = together(one.spent_delta for one in by_mechanism)
    asked_epsilon = _most([one.asked_epsilon for one in found])
    asked_delta = _most([one.asked_delta for one in found])
    return msgspec.structs.replace(
        found[0],
        mechanism=" and ".join(one.mechanism for one in by_mechanism),
        epsilon=together(one.epsilon for one in by_mechanism),
        delta=together(one.delta for one in by_mechanism),
        spent_epsilon=spent_epsilon,
        spent_delta=spent_delta,
        meaning=meaning_of(
            spent_epsilon + (asked_epsilon or 0.0), spent_delta + (asked_delta or 0.0)
        ),
        asked_epsilon=asked_epsilon,
        asked_delta=asked_delta,
        caveats=list(caveats),
    )


def _most(asked: Sequence[float | None]) -> float | None:
    """Alignments are formed by one algorithm only; the others add nothing."""
    known = [one for one in asked if one is not None]
    return max(known) if len(known) == len(asked) else None


def _result(teacher: PrivateTeacher, decides: bool, alignments: Guarantee | None) -> PrivacyResult:
    guarantee = teacher.guarantee
    open_decisions = decides and alignments is None
    caveats = [] if teacher.secure else [SIMULATED]
    if not teacher.named:
        caveats.append(ROWS)
    if open_decisions:
        caveats.append(DECISIONS)
    elif decides:
        caveats.append(FOLLOWED)
    asked = teacher.asked if alignments is None else alignments
    return PrivacyResult(
        mechanism=guarantee.mechanism,
        epsilon=teacher.limit.epsilon,
        delta=teacher.limit.delta,
        spent_epsilon=teacher.spent.epsilon,
        spent_delta=teacher.spent.delta,
        unit=guarantee.unit,
        noise=SYSTEM if teacher.secure else SEED,
        asked_epsilon=None if open_decisions else asked.epsilon,
        asked_delta=None if open_decisions else asked.delta,
        meaning=meaning_of(
            teacher.spent.epsilon + asked.epsilon, teacher.spent.delta + asked.delta
        ),
        caveats=caveats,
    )
