"""What a site asks of its post, whatever carries it."""

from __future__ import annotations

from typing import Protocol

from securefair.errors import StorageError
from securefair.sites.site.schedule import Timetable
from securefair.storage import Transaction


class Letters(Protocol):
    """A site's post, towards the site: what is said inside a transaction leaves after it."""

    @property
    def peers(self) -> tuple[str, ...]:
        """Whom it writes to."""
        ...

    @property
    def fault(self) -> StorageError | None:
        """Why the site must not go on."""
        ...

    @property
    def changes(self) -> int:
        """How often something was committed; for `wait`."""
        ...

    def send(self, tx: Transaction, peer: str, frame: bytes, round: int) -> None:
        """Keep a frame for a peer; it leaves once the transaction is committed."""
        ...

    def announce(self) -> None:
        """Something was committed."""
        ...

    def wait(self, since: int, seconds: float) -> None:
        """Wait until something was committed after `changes` was `since`, or so many seconds."""
        ...

    def unconfirmed(self, tx: Transaction, peer: str) -> int:
        """Frames that a peer has not confirmed yet; 0 of one that is blocked."""
        ...

    def has_heard(self, tx: Transaction, peer: str) -> bool:
        """Whether anything came from a peer, ever."""
        ...

    def is_blocked(self, tx: Transaction, peer: str) -> bool:
        """Whether this site's operator wants nothing of a peer; nothing is kept for it then."""
        ...


def take_leave(post: Letters, schedule: Timetable) -> None:
    """Stay for as long as peers repeat what they sent last: the receipts may be on their way.

    Who has ended all rounds waits for nothing but that.
    """
    until = schedule.monotonic() + schedule.leave
    while (left := until - schedule.monotonic()) > 0:
        post.wait(post.changes, left)
