"""The one sentence on what a collaboration was worth, and what it rests on.

The rule is in `worth.verdict`. Whatever prints, stores or compares a verdict takes it from here.
"""

from __future__ import annotations

import msgspec

from securefair.collaboration.kinds import wording_of
from securefair.model.outcomes import lower_is_better
from securefair.records import STANDALONE, HospitalVerdict, MetricResult, RunResult, VerdictResult
from securefair.words import Words, words_of
from securefair.worth.verdict import Against, LossDifference, shrunk, told_of

PLACES = ("better", "worse", "unclear")
"""What a hospital can be told, in the order of the sentence."""

DIGITS = 5


def verdict_of(
    gain: MetricResult, score: str, *, algorithm: str, control: str, against: Against
) -> VerdictResult:
    """What an algorithm is worth.

    Args:
        gain: over the control, positive is better; paired over test patients.
        score: that the gain is of.
        algorithm: that gained.
        control: the best without the others.
        against: of how many, and what it scores.
    """
    known = {
        name: LossDifference(value, error, gain.skew_by_hospital.get(name, 0.0))
        for name, value in gain.by_hospital.items()
        if value is not None and (error := gain.se_by_hospital.get(name)) is not None
    }
    found = shrunk(known, against)
    mean = (
        None
        if gain.mean is None or gain.se is None
        else LossDifference(gain.mean, gain.se, gain.skew)
    )
    hospitals = {
        name: HospitalVerdict(
            gain=round(found[name].gain, DIGITS),
            se=round(found[name].se, DIGITS),
            told=found[name].told,
        )
        if name in found
        else HospitalVerdict(gain=None, se=None, told="unclear")
        for name in gain.by_hospital
    }
    verdict = VerdictResult(
        score=score,
        algorithm=algorithm,
        control=control,
        gain=gain.mean,
        se=gain.se,
        told=told_of(mean, against),
        hospitals=hospitals,
        sentence="",
    )
    return msgspec.structs.replace(verdict, sentence=verdict_sentence(verdict, words_of()))


def verdict_sentence(verdict: VerdictResult, words: Words) -> str:
    """Who is better off, by how much and than with what, in one sentence; a second one says whom
    the average leaves out."""
    told: dict[str, list[str]] = {place: [] for place in PLACES}
    for name, one in verdict.hospitals.items():
        told[one.told].append(name)
    everyone = len(verdict.hospitals)
    clauses = [
        words(
            f"verdict.{place}",
            names=words("verdict.all", number=everyone)
            if len(names) == everyone > 1
            else words.listing(names),
        )
        for place, names in told.items()
        if names
    ]
    places = words("numbers.clauses").join(clauses)
    gain = verdict.gain or 0.0
    moved = "lower" if (gain > 0) == lower_is_better(verdict.score) else "higher"
    average = words(
        f"verdict.{moved if gain else 'equal'}",
        algorithm=wording_of(verdict.algorithm).title,
        control=control_title(verdict.control, words),
        score=words(f"scores.{verdict.score}"),
        gain=words.with_error(abs(gain), verdict.se),
    )
    said = words("verdict.sentence", places=places[:1].upper() + places[1:], average=average)
    left_out = [name for name, one in verdict.hospitals.items() if one.se is None]
    if verdict.se is None or not left_out:
        return said
    return f"{said} {words('verdict.without', names=words.listing(left_out))}"


def control_title(control: str, words: Words) -> str:
    """How people of a language read of a control; one that only a kind knows stays as it is."""
    return words.templates.get(f"controls.{control}") or wording_of(control).title


def headline(result: RunResult, words: Words) -> str:
    """What a run says first, whatever shows it."""
    verdict = result.algorithms[result.algorithm].verdict
    if verdict is not None:
        return verdict_sentence(verdict, words)
    alone = result.algorithm in (STANDALONE, *result.controls)
    return words("verdict.nobody" if alone else "verdict.untold")
