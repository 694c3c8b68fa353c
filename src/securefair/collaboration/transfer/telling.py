"""What a report tells of a transfer: what was done, what was let out, what is not protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.collaboration.telling import (
    Limit,
    Told,
    behind_the_models,
    chosen_questions,
    ledger_note,
    sizes_and_times,
)
from securefair.collaboration.transfer.chosen import chosen_sum
from securefair.collaboration.transfer.telling_sums import (
    counted_in_sums,
    limits_of_sums,
    steps_of_sums,
)
from securefair.collaboration.wording import Nouns, encrypts, listing, plural
from securefair.config import RunConfig
from securefair.model.transfer.peers import FEWEST_LEFT, asked_peers, missing_of, opened_of
from securefair.model.transfer.sums import ChosenSum, sum_of
from securefair.records import RunResult, StandInResult

ROUNDS = 1
"""Of a transfer, whatever other algorithms of a run take; a renewal is one more."""


def tell(config: RunConfig, result: RunResult, nouns: Nouns) -> Told:
    """See `Kind.tell`."""
    section, names = config.transfer, [one.name for one in result.participants]
    # How large groups are does not depend on the seed.
    counts = {len(asked_peers(names, name, section.peers, seed=0)) for name in names}
    private = config.privacy is not None
    chosen = chosen_sum(section, counts, private=private, brought=bool(_stand_ins(result)))
    summed = sum_of(chosen.name)
    mean = summed is not None or opened_of(section.opened, max(counts)) == "mean"
    fewest = FEWEST_LEFT if summed is None else summed.fewest
    missing = {count: missing_of(section.missing, count, fewest) for count in counts}
    colluding = (
        _colluding(min(count - missing[count] for count in counts), max(missing.values()), nouns)
        if mean
        else "Students that work together know the sum of what the ledger shows for each of them."
    )
    renewed = list(dict.fromkeys(one.name for one in config.renewals))
    if summed is not None:
        return Told(
            steps=steps_of_sums(result, nouns, _later(nouns, renewed, mean=True), summed, chosen),
            counted=counted_in_sums(nouns),
            limits=limits_of_sums(result, nouns, colluding, summed),
        )
    return Told(
        steps=_steps(result, nouns, _later(nouns, renewed, mean=mean), chosen, mean=mean),
        counted=_counted(nouns, mean=mean),
        limits=_limits(result, nouns, colluding, mean=mean, renewed=bool(renewed)),
    )


def _later(nouns: Nouns, renewed: Sequence[str], *, mean: bool) -> list[str]:
    """What happened when patients changed."""
    if not renewed:
        return []
    return [
        f"Later the {nouns.samples} of {listing(renewed)} changed. Whoever has other "
        f"{nouns.samples} fitted anew and asked its teachers once more, and nobody else did. "
        f"{_renewed(mean)}"
    ]


def _steps(
    result: RunResult, nouns: Nouns, later: Sequence[str], chosen: ChosenSum, *, mean: bool
) -> list[str]:
    people = plural(len(result.participants), nouns.participant, nouns.participants)
    own = f"the fit on their own {nouns.samples}"
    opened = (
        "It opened only the mean of their answers, no single one."
        if mean
        else "It opened every answer by itself."
    )
    texts = [
        f"Each of {people} fitted a regularised model to its own {nouns.samples}, with settings "
        "chosen by cross-validation on them.",
        f"Once, every {nouns.participant} in the role of a student asked the others, its teachers, "
        f"how {'their private models' if result.privacy else 'these fits'} judge its "
        f"{nouns.samples}. Teachers answer from "
        f"{f'a private model of their own {nouns.samples}' if result.privacy else own} and from "
        f"nothing else, so nothing that was opened flows back in an answer. {opened}",
        *(told_of_stand_in(name, one, nouns) for name, one in _stand_ins(result).items()),
        "Each student then fitted again, with the teachers' mean answer as an offset, and averaged "
        "many settings, some of them without any peer, by how well each predicts its own held-out "
        f"{nouns.samples}. Where peers do not help, they count little.",
    ]
    texts += later
    if not encrypts(result.encryption):
        return [*texts, "This run computed that without encryption."]
    return [
        *texts,
        f"Fits were asked about {nouns.samples}, under encryption, and not added up: "
        f"{chosen.because}.",
        f"No readable record of a {nouns.sample} and no model passed from one {nouns.participant} "
        "to another: what students sent was encrypted under keys that only they hold.",
    ]


def told_of_stand_in(name: str, found: StandInResult, nouns: Nouns) -> str:
    """That a model which a participant brought does not answer itself, and how far it is off."""
    return (
        f"{name} brought a model of its own ({found.model}). A stand-in that encryption can "
        "evaluate answers for it, fitted to what it says of own and of synthetic "
        f"{nouns.samples}. On own {nouns.samples} that were held out their probabilities differ by "
        f"{found.own:.3f} on average, and {found.other_class:.1%} get another class; on synthetic "
        f"{nouns.samples} they differ by {found.synthetic:.3f}."
    )


def _stand_ins(result: RunResult) -> Mapping[str, StandInResult]:
    return {
        name: found
        for algorithm in result.algorithms.values()
        for name, found in algorithm.stand_ins.items()
    }


def _colluding(enough: int, most: int, nouns: Nouns) -> str:
    """How many must work together to know a single fit out of means.

    Args:
        enough: hospitals that know one together.
        most: teachers that a mean may be without.
        nouns: for hospitals.
    """
    left = f"but {most} at most that may be away" if most else "without exception"
    return (
        f"A mean is over all teachers of a student {left}: teachers refuse any other. So "
        f"{plural(enough, nouns.participant, nouns.participants)} that work together know the fit "
        "that another answers from, and fewer do not."
    )


def _renewed(mean: bool) -> str:
    """Who answers whom at a renewal, and what that tells."""
    if not mean:
        return (
            "Whether a teacher answers follows its own reputation of who asks and may tell that "
            "one a bit, which the ledger counts."
        )
    return (
        "No reputation decides who answers. A teacher gives a student only means of the same "
        "teachers and of the same fits. So whoever asks a teacher that fitted anew itself gets "
        "nothing, and goes on with what was said before."
    )


def _counted(nouns: Nouns, *, mean: bool) -> str:
    return ledger_note(
        "fit",
        nouns,
        tells="Every answer tells something about the fit that the teacher answers from"
        + (", though students open it only in a mean with those of others." if mean else "."),
        lasts=f"A fit stays the same as long as its teacher's {nouns.samples} do.",
    )


def _limits(
    result: RunResult, nouns: Nouns, colluding: str, *, mean: bool, renewed: bool
) -> list[Limit]:
    if mean:
        implied = (
            "A student opens the mean of its teachers' answers and no single one. Enough numbers "
            "reveal the mean of their fits. The ledger above counts them."
        )
        asked = ["It gets no more of them, and of the mean only what it asked all of them alike."]
        tested = "The test is of the mean, and leaves out all answers or none."
    else:
        implied = (
            "Each answer says something about the teacher's fit, and enough numbers reveal it. The "
            "ledger above counts them."
        )
        asked, tested = ["It gets no more of them."], "Whoever gave it is left out."
    decided = (
        f"Whether a {nouns.participant} answers a renewed question tells a bit of its reputation "
        "of the one who asks, which the ledger counts."
    )
    return [
        ("What the released numbers imply", implied),
        behind_the_models(result.privacy, nouns),
        chosen_questions(*asked),
        (
            "Malicious teachers",
            "A teacher that does not follow the protocol chooses what its answer opens to, even "
            "parts of the student's secret key. Nobody answers from what it opened, so that comes "
            "back in no answer. It can spoil the student's new model. An answer that is no smooth "
            f"function of the features is not used. {tested} With fewer numbers than "
            f"{nouns.samples} this test catches little.",
        ),
        ("Collusion", colluding),
        sizes_and_times(nouns, *([decided] if renewed and not mean else [])),
        (
            "Honest answers",
            "Nothing proves that a teacher computed what it should. How much peers count is "
            f"decided by the student's own held-out {nouns.samples}, and chance may decide wrongly "
            "where they are few.",
        ),
    ]
