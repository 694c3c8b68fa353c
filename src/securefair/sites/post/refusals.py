"""Why something that arrived is refused: one word for the audit log, one sentence for people."""

from __future__ import annotations

import enum

from securefair.errors import SecureFairError


class Reason(enum.StrEnum):
    """The word that the audit log and the status count by."""

    MALFORMED = "malformed"
    TOO_LARGE = "too large"
    OTHER_VERSION = "other version"
    OTHER_PROJECT = "other project"
    WRONG_RECIPIENT = "wrong recipient"
    REFLECTED = "reflected"
    UNKNOWN_SENDER = "unknown sender"
    BLOCKED = "blocked sender"
    FORGED = "forged"
    EXPIRED = "expired"
    IMPOSSIBLE = "impossible"
    UNPROVED = "unproved claim"
    OLD_EPOCH = "old epoch"
    TURNED_BACK = "turned back"
    GAP = "gap"
    NOT_OPENABLE = "not openable"
    INBOX_FULL = "inbox full"
    OUTBOX_FULL = "outbox full"
    NO_FILE = "not a file"
    NO_ACCESS = "no access"
    COURIER = "courier failed"


class RefusedError(SecureFairError):
    """Something that arrived is refused, and nothing has changed.

    Args:
        reason: the word for it.
        problem: one sentence.
        sender: fingerprint of whom its signature proves; None before that is known.
        facts: see `SecureFairError`.
    """

    def __init__(
        self,
        reason: Reason,
        problem: str,
        *,
        sender: bytes | None = None,
        where: str | None = None,
        found: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        self.reason = reason
        self.sender = sender
        super().__init__(problem, where=where, found=found, expected=expected, hint=hint)
