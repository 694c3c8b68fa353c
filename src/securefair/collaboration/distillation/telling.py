"""What a report tells of distillation: what was done, what was let out, what is not protected."""

from __future__ import annotations

from collections.abc import Mapping

from securefair.collaboration.telling import (
    Limit,
    Told,
    behind_the_models,
    chosen_questions,
    ledger_note,
    sizes_and_times,
)
from securefair.collaboration.wording import Nouns, encrypts, listing, plural
from securefair.config import DistillationSection, RunConfig
from securefair.model.aimed import REFUSED
from securefair.records import PrivacyResult, RunResult
from securefair.releases import release_of


def tell(config: RunConfig, result: RunResult, nouns: Nouns, *, reputations: bool) -> Told:
    """See `Kind.tell`; `reputations` says whether anybody forms any."""
    return Told(
        steps=_steps(config, result, nouns, reputations=reputations),
        counted=_counted(result, nouns),
        limits=_limits(config.distillation, result.privacy, nouns, reputations=reputations),
    )


def _steps(config: RunConfig, result: RunResult, nouns: Nouns, *, reputations: bool) -> list[str]:
    training = config.training
    people = plural(len(result.participants), nouns.participant, nouns.participants)
    apart = config.distillation.roles == "apart"
    role = "that learned" if apart else "in the role of a student"
    learner = f"every {nouns.participant} {role}"
    teachers = "the teachers" if apart else "the others, its teachers,"
    models = "their private models" if result.privacy else "their current models"
    alone = (
        f"Each of {people} trained a model on its own {nouns.samples} for "
        f"{plural(training.local_epochs, 'epoch')}."
    )
    if result.privacy:
        alone += (
            " Each also fitted a private model to them, once. Whoever taught answered from that "
            "one alone."
        )
    if apart:
        alone += (
            f" {listing(config.distillation.teachers)} only taught, and all others only learned."
        )
    came_back = f"What came back was {released(config.distillation, nouns)}."
    if encrypts(result.encryption):
        texts = [
            f"{alone} Then and later, no readable record of a {nouns.sample} and no model passed "
            f"from one {nouns.participant} to another.",
            f"Once, at the start, {learner} sent the features of its {nouns.samples} to "
            f"{teachers.rstrip(',')}, encrypted under a key that only it holds.",
            f"In each of {plural(training.rounds, 'round')} the teachers ran {models} on the "
            f"encrypted values without seeing them. {came_back}",
        ]
    else:
        texts = [
            alone,
            f"In each of {plural(training.rounds, 'round')} {learner} asked {teachers} how "
            f"{models} judge its {nouns.samples}; this run computed that without encryption. "
            f"{came_back}",
        ]
    texts.append(
        "Each student moved its model a little towards what its teachers said (knowledge "
        f"distillation), while it went on learning from its own {nouns.samples}."
    )
    if reputations:
        texts.append(
            f"Every {_ordinal(config.fairness.forced_every)} round everyone answered, and each "
            f"{nouns.participant} checked whether a teacher's advice pulled in the same direction "
            f"as its own {nouns.samples} did. The result is that teacher's reputation. It decided "
            "how much the advice counted and, in the other rounds, how likely the "
            f"{nouns.participant} was to answer that teacher's questions in return."
        )
    return texts


def _counted(result: RunResult, nouns: Nouns) -> str:
    model, lasts = (
        ("private model", "It was fitted once, so answers of all rounds add up.")
        if result.privacy
        else (
            "model",
            "A model changes from round to round, but not by much, so answers of different rounds "
            "add up in part.",
        )
    )
    tells = f"Every answer tells its student something about the teacher's {model}."
    return ledger_note(model, nouns, tells=tells, lasts=lasts)


def released(settings: DistillationSection, nouns: Nouns) -> str:
    """What a teacher lets out, as part of a sentence."""
    nouned = {"samples": nouns.samples, "sample": nouns.sample}
    return release_of(settings.release).told(settings.q, settings.basis, **nouned)


def _limits(
    settings: DistillationSection,
    privacy: Mapping[str, PrivacyResult] | None,
    nouns: Nouns,
    *,
    reputations: bool,
) -> list[Limit]:
    implied = (
        f"Each answer says something about the teacher's {'private ' if privacy else ''}model, and "
        "enough numbers reveal any model. The ledger above counts them."
    )
    more, handled = "It gets no more of them.", "checked and rounded"
    if release_of(settings.release).whole:
        implied += " Releasing logits discloses as much as a public prediction service."
        more = "It can also get more of them than its samples need; the ledger counts them all."
        handled = "rounded"
    if settings.roles == "apart":
        carried = "Whoever learns here answers nobody, so nothing of that comes back in an answer."
    elif privacy:
        carried = "Nobody answers from what it opened, so nothing of that comes back in an answer."
        if reputations:
            carried += (
                f" Only decisions can carry it back: whom a {nouns.participant} asks and answers "
                "follows its reputations."
            )
    else:
        carried = (
            "Where the student trains on that and then answers others, its answers can carry it "
            "back."
        )
    decided = (
        [
            f"How often a {nouns.participant} answers shows its reputation of the one who asks.",
        ]
        if reputations
        else []
    )
    noticed = (
        "Reputation notices unhelpful advice, but only when it is next updated."
        if reputations
        else "Nobody forms a reputation here, so unhelpful advice counts like any other."
    )
    return [
        ("What the released numbers imply", implied),
        behind_the_models(privacy, nouns),
        chosen_questions(more),
        (
            "Malicious teachers",
            "A teacher that does not follow the protocol can aim an answer at one of the student's "
            f"{nouns.samples}, or make it open to parts of the student's secret key. {carried} "
            f"What is no smooth function of the features is refused, and values are {handled} when "
            "they are opened. That limits this and does not stop it: on heart disease data, "
            f"{REFUSED}.",
        ),
        (
            "Collusion",
            "Students that work together know the sum of what the ledger shows for each of them.",
        ),
        sizes_and_times(nouns, *decided),
        ("Honest answers", f"Nothing proves that a teacher computed what it should. {noticed}"),
    ]


def _ordinal(number: int) -> str:
    if number == 1:
        return "single"
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
