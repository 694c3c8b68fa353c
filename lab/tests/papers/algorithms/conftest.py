"""Fixtures of populations, which other folders share."""

from support.populations import (
    make_images,
    make_momentum_networks,
    make_networks,
    make_participant,
    make_population,
)

__all__ = [
    "make_networks",
    "make_images",
    "make_momentum_networks",
    "make_participant",
    "make_population",
]
