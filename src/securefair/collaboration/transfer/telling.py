"""What a report tells of a transfer: what was done, what was let out, what is not protected."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.collaboration.telling import (
    Limit,
    behind_the_models,
    chosen_questions,
    ledger_note,
    sizes_and_times,
)
from securefair.collaboration.transfer.chosen import chosen_sum
from securefair.collaboration.wording import Nouns, encrypts, listing, plural
from securefair.config import RunConfig
from securefair.model.transfer.peers import (
    FEWEST_LEFT,
    Opened,
    asked_peers,
    missing_of,
    opened_of,
)
from securefair.model.transfer.sums import FitSum, sum_of
from securefair.records import RunResult

ROUNDS = 1
"""Of a transfer, whatever other algorithms of a run take; a renewal is one more."""


def opens(config: RunConfig, names: Sequence[str]) -> Opened:
    """What students of these participants opened, as `TransferAgreement.opens`."""
    if summed_by(config, names)[0] is not None:
        return "mean"
    return opened_of(config.transfer.opened, max(_teachers(config, names)))


def summed_by(config: RunConfig, names: Sequence[str]) -> tuple[FitSum | None, str]:
    """What these participants added up, None for nothing; and why, after "because"."""
    private = config.privacy is not None
    chosen = chosen_sum(config.transfer, _teachers(config, names), private=private)
    return sum_of(chosen.name), chosen.because


def _teachers(config: RunConfig, names: Sequence[str]) -> set[int]:
    """How many teachers students have: how large groups are does not depend on the seed."""
    return {len(asked_peers(names, name, config.transfer.peers, seed=0)) for name in names}


def steps(config: RunConfig, result: RunResult, nouns: Nouns) -> list[str]:
    """See `Kind.steps`."""
    people = plural(len(result.participants), nouns.participant, nouns.participants)
    own = f"the fit on their own {nouns.samples}"
    names = [one.name for one in result.participants]
    summed, because = summed_by(config, names)
    if summed is not None:
        return _steps_of_sums(config, result, nouns, summed, because)
    mean = opens(config, names) == "mean"
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
        "Each student then fitted again, with the teachers' mean answer as an offset, and averaged "
        "many settings, some of them without any peer, by how well each predicts its own held-out "
        f"{nouns.samples}. Where peers do not help, they count little.",
    ]
    texts += _renewals(config, nouns, mean)
    if not encrypts(result.encryption):
        return [*texts, "This run computed that without encryption."]
    return [
        *texts,
        f"Fits were asked about {nouns.samples}, under encryption, because {because}.",
        f"No readable record of a {nouns.sample} and no model passed from one {nouns.participant} "
        "to another: what students sent was encrypted under keys that only they hold.",
    ]


def _steps_of_sums(
    config: RunConfig, result: RunResult, nouns: Nouns, summed: FitSum, because: str
) -> list[str]:
    people = plural(len(result.participants), nouns.participant, nouns.participants)
    return [
        f"Each of {people} fitted a regularised model to its own {nouns.samples}, with settings "
        "chosen by cross-validation on them.",
        f"Once, every {nouns.participant} got the sum, over the others, of {summed.means}. What "
        f"each added is of the fit on its own {nouns.samples} and of nothing else, so nothing that "
        f"was opened flows back. Nobody was asked about {nouns.samples}.",
        f"Each then fitted again, around the others' mean fit and around the most likely one, and "
        f"averaged many settings, some of them without any peer, by how well each predicts its own "
        f"held-out {nouns.samples}. Where peers do not help, they count little.",
        *_renewals(config, nouns, mean=True),
        f"Nothing was encrypted, because {because}. What each added was hidden under masks that "
        "cancel in the sum.",
    ]


def _renewals(config: RunConfig, nouns: Nouns, mean: bool) -> list[str]:
    if not config.renewals:
        return []
    whose = listing(list(dict.fromkeys(one.name for one in config.renewals)))
    return [
        f"Later the {nouns.samples} of {whose} changed. Whoever has other {nouns.samples} "
        f"fitted anew and asked its teachers once more, and nobody else did. {_renewed(mean)}"
    ]


def _colluding(config: RunConfig, result: RunResult, nouns: Nouns) -> str:
    """How many must work together to know a single fit out of means."""
    counts = _teachers(config, [one.name for one in result.participants])
    summed = summed_by(config, [one.name for one in result.participants])[0]
    fewest = FEWEST_LEFT if summed is None else summed.fewest
    missing = {one: missing_of(config.transfer.missing, one, fewest) for one in counts}
    enough = min(teachers - missing[teachers] for teachers in counts)
    most = max(missing.values())
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


def counted(config: RunConfig, result: RunResult, nouns: Nouns) -> str:
    """See `Kind.counted`."""
    mean = opens(config, [one.name for one in result.participants]) == "mean"
    return ledger_note(
        "fit",
        nouns,
        tells="Every answer tells something about the fit that the teacher answers from"
        + (", though students open it only in a mean with those of others." if mean else "."),
        lasts=f"A fit stays the same as long as its teacher's {nouns.samples} do.",
    )


def not_protected(config: RunConfig, result: RunResult, nouns: Nouns) -> list[Limit]:
    """See `Kind.not_protected`."""
    names = [one.name for one in result.participants]
    summed, _ = summed_by(config, names)
    if summed is not None:
        return _not_protected_by_sums(config, result, nouns, summed)
    mean = opens(config, names) == "mean"
    if mean:
        implied = (
            "A student opens the mean of its teachers' answers and no single one. Enough numbers "
            "reveal the mean of their fits. The ledger above counts them."
        )
        colluding = _colluding(config, result, nouns)
        asked = ["It gets no more of them, and of the mean only what it asked all of them alike."]
        tested = "The test is of the mean, and leaves out all answers or none."
    else:
        implied = (
            "Each answer says something about the teacher's fit, and enough numbers reveal it. The "
            "ledger above counts them."
        )
        colluding = (
            "Students that work together know the sum of what the ledger shows for each of them."
        )
        asked, tested = ["It gets no more of them."], "Whoever gave it is left out."
    renewed = [
        f"Whether a {nouns.participant} answers a renewed question tells a bit of its reputation "
        "of the one who asks, which the ledger counts."
        for _ in config.renewals[:1]
        if not mean
    ]
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
        sizes_and_times(nouns, *renewed),
        (
            "Honest answers",
            "Nothing proves that a teacher computed what it should. How much peers count is "
            f"decided by the student's own held-out {nouns.samples}, and chance may decide wrongly "
            "where they are few.",
        ),
    ]


def _not_protected_by_sums(
    config: RunConfig, result: RunResult, nouns: Nouns, summed: FitSum
) -> list[Limit]:
    rows = (
        f" Products of features over fewer {nouns.samples} than there are features tell single "
        f"{nouns.samples}."
        if summed.rows
        else f" Of a column of yes and no they hold a weighted count of {nouns.samples}."
    )
    return [
        (
            "What the sum implies",
            f"Whoever gets the sum of {summed.means} knows the mean of the others' fits, and how "
            f"their {nouns.samples} together are spread.{rows}",
        ),
        behind_the_models(result.privacy, nouns),
        (
            "Collusion",
            f"{_colluding(config, result, nouns)} They then know what that one added, too.",
        ),
        (
            "Later collaborations",
            f"Two sums over sets of {nouns.participants} that differ by one tell what that one "
            "added. Nobody gives two in one collaboration; a new one with other "
            f"{nouns.participants} and the same {nouns.samples} is another sum.",
        ),
        (
            "Malicious peers",
            "Who does not follow the protocol chooses what it adds. The sum then is what it "
            f"likes, and the student's new model may suffer: its own held-out {nouns.samples} "
            "decide how much peers count. It reads nothing by that.",
        ),
        sizes_and_times(nouns),
    ]
