"""[validation]: peers' models on one's own labelled patients."""

from __future__ import annotations

from pydantic import Field

from securefair.config import defaults
from securefair.config.base import Section


class ValidationSection(Section):
    """[validation]: peers' models on one's own labelled patients, from which nobody learns."""

    peers: int = Field(
        default=defaults.PEERS,
        ge=2,
        le=1000,
        description="Others whose models a hospital looks at, or some more: the seed draws groups "
        "of so many and one, in which everybody asks everybody",
    )
