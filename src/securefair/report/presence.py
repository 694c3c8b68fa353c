"""How a site and its peers are, in words.

Status, page, log, metrics and report take them from here and from nowhere else.
"""

from __future__ import annotations

import enum


class SiteLife(enum.StrEnum):
    """What a site does."""

    RUNNING = "running"
    WAITING = "waiting"
    STUCK = "stuck"
    STOPPED = "stopped"
    OVER = "over"
    LEFT = "left"


class PeerLife(enum.StrEnum):
    """How a peer is to a site: waited for, or why not."""

    HERE = "here"
    AWAY = "away"
    UNHEARD = "never heard of"
    LEFT = "left"
    BLOCKED = "blocked"
