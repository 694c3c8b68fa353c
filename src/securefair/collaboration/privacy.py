"""What a run says about the privacy of patients: one pair of figures a hospital, and its gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from securefair.collaboration.private import PrivacyTerms, PrivateTeacher
from securefair.config import RunConfig
from securefair.records import PrivacyResult

SYSTEM, SEED = "operating system", "seed"
SIMULATED = "A simulation: the noise came from the run's seed, and whoever knows it takes it off"
DECISIONS = (
    "Whether this hospital answers depends on its opinion of the asker, which it formed on its own "
    "patients: a few bits a round that no epsilon covers"
)
RANGES = (
    "Value ranges were inferred from the participants' tables: write them from general knowledge"
)


def privacy_of(config: RunConfig) -> PrivacyTerms | None:
    """What the private models of a configuration may cost; None where nothing is private."""
    given = config.privacy
    if given is None:
        return None
    required = None
    if given.require_epsilon is not None and given.require_delta is not None:
        required = (given.require_epsilon, given.require_delta)
    return PrivacyTerms(
        epsilon=given.epsilon,
        delta=given.delta,
        rows_per_patient=given.rows_per_patient,
        by_column=given.patient_column is not None,
        require=required,
        store=given.store,
        total_epsilon=given.total_epsilon,
        total_delta=given.total_delta,
    )


def privacy_results(
    teachers: Mapping[str, PrivateTeacher], *, decides: bool
) -> dict[str, PrivacyResult] | None:
    """Of every hospital whose answers come from a private model; None where there are none.

    Args:
        teachers: by hospital.
        decides: whether hospitals decline by opinions that they formed on their own patients.
            Otherwise nothing that they send after they opened an answer depends on it.
    """
    return {name: _result(one, decides) for name, one in teachers.items()} or None


def joined(found: Sequence[PrivacyResult], config: RunConfig) -> PrivacyResult:
    """Of one hospital over algorithms and seeds.

    Algorithms whose private models are fitted by the same mechanism answer from the same fit. Where
    mechanisms differ there are two fits, and both cost the same patients: a store has counted both
    already, a simulation has not.
    """
    by_mechanism = {one.mechanism: one for one in found}.values()
    together = max if found[0].noise == SYSTEM else sum
    asked = [one.asked_epsilon for one in found]
    caveats = {caveat: None for one in found for caveat in one.caveats}
    if config.table is not None and config.table.origin == "participants":
        caveats[RANGES] = None
    return msgspec.structs.replace(
        found[0],
        mechanism=" and ".join(one.mechanism for one in by_mechanism),
        epsilon=together(one.epsilon for one in by_mechanism),
        delta=together(one.delta for one in by_mechanism),
        spent_epsilon=together(one.spent_epsilon for one in by_mechanism),
        meaning=" ".join(one.meaning for one in by_mechanism),
        asked_epsilon=None if None in asked else 0.0,
        caveats=list(caveats),
    )


def _result(teacher: PrivateTeacher, decides: bool) -> PrivacyResult:
    guarantee = teacher.guarantee
    caveats = ([] if teacher.secure else [SIMULATED]) + ([DECISIONS] if decides else [])
    return PrivacyResult(
        mechanism=guarantee.mechanism,
        epsilon=teacher.limit.epsilon,
        delta=teacher.limit.delta,
        spent_epsilon=teacher.spent.epsilon,
        unit=guarantee.unit,
        noise=SYSTEM if teacher.secure else SEED,
        asked_epsilon=None if decides else 0.0,
        meaning=guarantee.sentence,
        caveats=caveats,
    )
