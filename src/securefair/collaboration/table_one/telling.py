"""What reports say of a description: what was done, what was let out, what is not protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.collaboration.telling import Told, sizes_and_times

if TYPE_CHECKING:
    from securefair.config import RunConfig
    from securefair.records import RunResult
    from securefair.words import Words

ROUNDS = 2


def tell(config: RunConfig, result: RunResult, words: Words) -> Told:
    """See `Kind.tell`."""
    people = len(result.participants)
    hospitals = config.table_one.hospitals or people
    needed = words.either("counts.participants", hospitals)
    limits = [
        (words("table_one.others"), words("table_one.others_text")),
        (words("table_one.lies"), words("table_one.lies_all", people=needed)),
        (words("table_one.twice"), words("table_one.twice_text")),
        (words("table_one.columns"), words("table_one.columns_text")),
        (words("limits.collusion"), words("table_one.colluding")),
        sizes_and_times(words, sizes="limits.sizes_counted"),
    ]
    if hospitals < people:
        limits[1] = (words("table_one.lies"), words("table_one.lies_some", people=needed))
    return Told(
        steps=[
            words("table_one.counted", people=words.either("counts.participants", people)),
            words("table_one.first", people=needed),
            words("table_one.second"),
            words("table_one.masks"),
        ],
        counted=words("table_one.ledger"),
        limits=limits,
    )
