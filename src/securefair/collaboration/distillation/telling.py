"""What a report tells of distillation: what was done, what was let out, what is not protected."""

from __future__ import annotations

from securefair.collaboration.telling import (
    Limit,
    Told,
    behind_the_models,
    chosen_questions,
    sizes_and_times,
)
from securefair.collaboration.wording import encrypts
from securefair.config import DistillationSection, RunConfig
from securefair.records import RunResult
from securefair.releases import release_of
from securefair.words import Words

FEW = 24
"""Numbers a class below which nobody should count on the test of plausibility, which refuses some
aimed answers or none (`model.plausibility`)."""


def tell(config: RunConfig, result: RunResult, words: Words, *, reputations: bool) -> Told:
    """See `Kind.tell`; `reputations` says whether anybody forms any."""
    return Told(
        steps=_steps(config, result, words, reputations=reputations),
        counted=_counted(result, words),
        limits=_limits(config.distillation, result, words, reputations=reputations),
    )


def _steps(config: RunConfig, result: RunResult, words: Words, *, reputations: bool) -> list[str]:
    training, settings = config.training, config.distillation
    apart = settings.roles == "apart"
    rounds = words.either("counts.rounds", training.rounds)
    alone = [
        words(
            "distillation.trained",
            people=words.either("counts.participants", len(result.participants)),
            epochs=words.either("counts.epochs", training.local_epochs),
        )
    ]
    if result.privacy:
        alone.append(words("distillation.private"))
    if apart:
        alone.append(words("distillation.apart", teachers=words.listing(settings.teachers)))
    came_back = words("distillation.came_back", released=released(settings, words))
    private = "_private" if result.privacy else ""
    if encrypts(result.encryption):
        texts = [
            " ".join([*alone, words("distillation.no_record")]),
            words("distillation.sent_apart" if apart else "distillation.sent"),
            f"{words(f'distillation.ran{private}', rounds=rounds)} {came_back}",
        ]
    else:
        asked = f"distillation.asked{'_apart' * apart}{private}"
        texts = [" ".join(alone), f"{words(asked, rounds=rounds)} {came_back}"]
    texts.append(words("distillation.moved"))
    if reputations:
        every = config.fairness.forced_every
        key = "distillation.reputations_always" if every == 1 else "distillation.reputations"
        texts.append(words(key, **({} if every == 1 else {"every": every})))
    return texts


def _counted(result: RunResult, words: Words) -> str:
    model = words("limits.private_model" if result.privacy else "limits.model")
    return words(
        "limits.counted",
        model=model,
        tells=words("distillation.tells", model=model),
        lasts=words("distillation.lasts_private" if result.privacy else "distillation.lasts"),
    )


def released(settings: DistillationSection, words: Words) -> str:
    """What a teacher lets out, as part of a sentence."""
    return release_of(settings.release).told(settings.q, settings.basis, words)


def _limits(
    settings: DistillationSection,
    result: RunResult,
    words: Words,
    *,
    reputations: bool,
) -> list[Limit]:
    privacy, secret = result.privacy, encrypts(result.encryption)
    release = release_of(settings.release)
    model = words("limits.private_model" if privacy else "limits.model")
    implied = [words("distillation.implied", model=model)]
    more, handled = words("limits.no_more"), "distillation.checked"
    if release.whole:
        implied.append(words("distillation.implied_whole"))
        more, handled = words("distillation.more_whole"), "distillation.rounded"
    if settings.roles == "apart":
        carried = [words("distillation.carried_apart")]
    elif privacy:
        carried = [words("distillation.carried_private")]
        if reputations:
            carried.append(words("distillation.carried_decisions"))
    else:
        carried = [words("distillation.carried")]
    decided = [words("distillation.decided")] if reputations else []
    noticed = words("distillation.noticed" if reputations else "distillation.unnoticed")
    refused = words(handled, refused=words("distillation.refused"))
    numbers = settings.q if release.rows else 1  # what only monitors tells no logits to test
    if not release.whole and numbers < FEW:
        refused = words("distillation.few", numbers=words.count(numbers))
    even = words("distillation.aimed_key") if secret else ""
    aimed = words("distillation.aimed", even=even, carried=" ".join(carried))
    return [
        (words("limits.implied"), " ".join(implied)),
        behind_the_models(privacy, words, noise=secret),
        chosen_questions(words, more, secret=secret),
        (words("limits.teachers"), f"{aimed} {refused}"),
        (words("limits.collusion"), words("limits.collusion_sum")),
        sizes_and_times(words, *decided),
        (words("limits.honest"), f"{words('limits.honest_text')} {noticed}"),
    ]
