"""What a report tells of a transfer: what was done, what was let out, what is not protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.collaboration.telling import (
    Limit,
    Told,
    behind_the_models,
    chosen_questions,
    even_key,
    sizes_and_times,
    told_of_stand_in,
)
from securefair.collaboration.transfer.telling_sums import (
    colluding_on_sums,
    limits_of_sums,
    steps_of_sums,
)
from securefair.collaboration.wording import encrypts
from securefair.config import RunConfig
from securefair.config.transfer import answers_are_linear
from securefair.model.outcomes import outcome_named
from securefair.model.transfer.peers import FEWEST_LEFT, asked_peers, missing_of, opened_of
from securefair.model.transfer.sums import ChosenSum, choose_sum, sum_of
from securefair.records import RunResult, StandInResult
from securefair.words import Words

ROUNDS = 1
"""Of a transfer, whatever other algorithms of a run take; a renewal is one more."""


def tell(config: RunConfig, result: RunResult, words: Words) -> Told:
    """See `Kind.tell`."""
    section, names = config.transfer, [one.name for one in result.participants]
    # How large groups are does not depend on the seed.
    counts = {len(asked) for asked in asked_peers(names, section.peers, seed=0).values()}
    chosen = choose_sum(
        section.sums,
        min(counts),
        linear=answers_are_linear(section.fit),
        measured=outcome_named(result.outcome).curvature is not None,
        private=config.privacy is not None,
        brought=bool(stand_ins_of(result)),
        opened=section.opened,
    )
    summed = sum_of(chosen.name)
    mean = summed is not None or opened_of(section.opened, max(counts)) == "mean"
    fewest = FEWEST_LEFT if summed is None else summed.fewest
    missing = {count: missing_of(section.missing, count, fewest) for count in counts}
    enough, most = min(count - missing[count] for count in counts), max(missing.values())
    colluding = _colluding(enough, most, words) if mean else words("limits.collusion_sum")
    renewed = list(dict.fromkeys(one.name for one in config.renewals))
    if summed is not None:
        return Told(
            steps=steps_of_sums(result, words, _later(words, renewed, mean=True), summed, chosen),
            counted=words("sums.counted"),
            limits=limits_of_sums(
                result,
                words,
                colluding_on_sums(enough, most, words) or colluding,
                summed,
                fewest=enough,
            ),
        )
    return Told(
        steps=_steps(result, words, _later(words, renewed, mean=mean), chosen, mean=mean),
        counted=words(
            "limits.counted",
            model=words("limits.fit"),
            tells=words("transfer.tells_mean" if mean else "transfer.tells"),
            lasts=words("transfer.lasts"),
        ),
        limits=_limits(result, words, colluding, mean=mean, renewed=bool(renewed)),
    )


def _later(words: Words, renewed: Sequence[str], *, mean: bool) -> list[str]:
    """What happened when patients changed, who answers whom then, and what that tells."""
    if not renewed:
        return []
    told = words("transfer.later_mean" if mean else "transfer.later_each")
    return [f"{words('transfer.later', names=words.listing(renewed))} {told}"]


def _steps(
    result: RunResult, words: Words, later: Sequence[str], chosen: ChosenSum, *, mean: bool
) -> list[str]:
    opened = words("transfer.opened_mean" if mean else "transfer.opened_each")
    texts = [
        words(
            "transfer.fitted", people=words.either("counts.participants", len(result.participants))
        ),
        f"{asked_of(result, words)} {opened}",
        *(told_of_stand_in(name, one, words) for name, one in stand_ins_of(result).items()),
        words("transfer.averaged"),
        *later,
    ]
    because = chosen.told(words)
    if not encrypts(result.encryption):
        unasked = words("transfer.not_added_open", because=because)
        return [*texts, unasked, words("transfer.unencrypted")]
    return [
        *texts,
        words("transfer.not_added", because=because),
        words("transfer.no_record"),
    ]


def asked_of(result: RunResult, words: Words) -> str:
    """That everybody asked, and what answered."""
    if result.privacy:
        return words("transfer.asked_private")
    brought = list(stand_ins_of(result))
    if not brought:
        answers = words("transfer.from_fits")
    elif len(brought) == 1:
        answers = words("transfer.from_brought", name=brought[0])
    else:
        answers = words("transfer.from_several", names=words.listing(brought))
    return f"{words('transfer.asked')} {answers}"


def stand_ins_of(result: RunResult) -> Mapping[str, StandInResult]:
    """Of every algorithm, by who brought a model."""
    return {
        name: found
        for algorithm in result.algorithms.values()
        for name, found in algorithm.stand_ins.items()
    }


def _colluding(enough: int, most: int, words: Words) -> str:
    """How many must work together to know a single fit out of means.

    Args:
        enough: hospitals that know one together.
        most: teachers that a mean may be without.
        words: about these participants.
    """
    people = words.either("counts.participants", enough)
    if most:
        return words("transfer.colluding_missing", people=people, missing=most)
    return words("transfer.colluding", people=people)


def _limits(
    result: RunResult, words: Words, colluding: str, *, mean: bool, renewed: bool
) -> list[Limit]:
    more, tested = ("limits.no_more", "transfer.tested_each")
    if mean:
        more, tested = ("transfer.no_more_mean", "transfer.tested_mean")
    decided = [words("transfer.decided")] if renewed and not mean else []
    secret = encrypts(result.encryption)
    teachers = words("transfer.teachers", even=even_key(words, secret=secret), tested=words(tested))
    return [
        (
            words("limits.implied"),
            words("transfer.implied_mean" if mean else "transfer.implied"),
        ),
        behind_the_models(result.privacy, words, noise=secret),
        chosen_questions(words, words(more), secret=secret),
        (words("limits.teachers"), teachers),
        (words("limits.collusion"), colluding),
        sizes_and_times(words, *decided),
        (
            words("limits.honest"),
            f"{words('limits.honest_text')} {words('transfer.honest')}",
        ),
    ]
