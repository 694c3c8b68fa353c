"""What reports say of a validation: what was done, what was let out, what is not protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.collaboration.telling import (
    Told,
    behind_the_models,
    chosen_questions,
    even_key,
    sizes_and_times,
    told_of_stand_in,
)
from securefair.collaboration.transfer.telling import asked_of, stand_ins_of
from securefair.collaboration.wording import encrypts

if TYPE_CHECKING:
    from securefair.config import RunConfig
    from securefair.records import RunResult
    from securefair.words import Words


def tell(config: RunConfig, result: RunResult, words: Words) -> Told:
    """See `Kind.tell`."""
    del config
    people = words.either("counts.participants", len(result.participants))
    guarded = encrypts(result.encryption)
    return Told(
        steps=[
            words("transfer.fitted", people=people),
            f"{asked_of(result, words)} {words('transfer.opened_each')}",
            *(told_of_stand_in(name, one, words) for name, one in stand_ins_of(result).items()),
            words("validation.scored"),
            words("transfer.no_record" if guarded else "transfer.unencrypted"),
        ],
        counted=words(
            "limits.counted",
            model=words("limits.fit"),
            tells=words("transfer.tells"),
            lasts=words("transfer.lasts"),
        ),
        limits=[
            (words("limits.implied"), words("validation.implied")),
            behind_the_models(result.privacy, words, noise=guarded),
            chosen_questions(words, words("limits.no_more"), secret=guarded),
            (
                words("limits.teachers"),
                words("validation.teachers", even=even_key(words, secret=guarded)),
            ),
            (words("limits.collusion"), words("limits.collusion_sum")),
            sizes_and_times(words),
            (words("limits.honest"), words("limits.honest_text")),
        ],
    )
