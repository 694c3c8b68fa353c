"""Fixtures of populations, which other folders share."""

from support.populations import (
    make_cohort,
    make_images,
    make_moving_cohort,
    make_participant,
    make_population,
)

__all__ = [
    "make_cohort",
    "make_images",
    "make_moving_cohort",
    "make_participant",
    "make_population",
]
