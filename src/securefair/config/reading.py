"""Which keys of a configuration only some kinds of collaboration read.

A key that was given and that nothing reads would be a wish that nobody hears. So each kind says
what it reads (`securefair.collaboration.interface.Kind.reads`). The rest is refused unless it says
its default, and then not written.
"""

from __future__ import annotations

from securefair.config.describing import key_names
from securefair.config.sections import RunConfig

GENERAL = frozenset({"run", "data", "table", "report", "participants", "renewals"})
"""Sections that mean the same whatever is run."""


def keys_of(*sections: str, without: tuple[str, ...] = ()) -> frozenset[str]:
    """Dotted keys of whole sections, such as "training.rounds".

    Args:
        sections: their names.
        without: keys in them, without their section.
    """
    return frozenset(
        f"{section}.{key}"
        for section in sections
        for key in key_names((section,))
        if key not in without
    )


def kinds_keys() -> frozenset[str]:
    """All keys that only some kinds of collaboration read."""
    return keys_of(*(name for name in RunConfig.model_fields if name not in GENERAL))
