"""What a site asks of its post, whatever carries it, and how much of its disk a peer may fill.

A peer that confirms nothing is owed no more replies than an agreement lets it ask for, and is asked
no more once it leaves as much unread. Honest peers come to neither (decision 57).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from securefair.errors import StorageError
from securefair.protocol.codec import Limits, encode
from securefair.protocol.effects import Input, Received, Send
from securefair.protocol.messages import REPLIES, UP
from securefair.protocol.settings import MachineSettings
from securefair.sites.post.peers import QUESTION, REPLY
from securefair.sites.site.notices import message_frame
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

    def send(self, tx: Transaction, peer: str, frame: bytes, round: int, kind: str = "") -> None:
        """Keep a frame for a peer; it leaves once the transaction is committed.

        Args:
            tx: of the site's store.
            peer: whom it is for.
            frame: its bytes.
            round: that the site is in.
            kind: `QUESTION` or `REPLY`, of `post.peers`; "" for anything else.
        """
        ...

    def may_ask(self, tx: Transaction, peer: str, most: int) -> bool:
        """Whether a peer has confirmed all replies but for fewer than so many. Where it has not,
        its question is to be let be, and the site says so."""
        ...

    def announce(self) -> None:
        """Something was committed."""
        ...

    def wait(self, since: int, seconds: float) -> None:
        """Wait until something was committed after `changes` was `since`, or so many seconds."""
        ...

    def unconfirmed(self, tx: Transaction, peer: str, kind: str = "") -> int:
        """Frames that a peer has not confirmed yet, all or those of a kind; 0 of one that is
        blocked."""
        ...

    def has_heard(self, tx: Transaction, peer: str) -> bool:
        """Whether anything came from a peer, ever."""
        ...

    def is_blocked(self, tx: Transaction, peer: str) -> bool:
        """Whether this site's operator wants nothing of a peer; nothing is kept for it then."""
        ...


def write(post: Letters, tx: Transaction, said: Send, limits: Limits, round: int) -> None:
    """Send a message of the machine.

    Args:
        post: of the site.
        tx: of its store.
        said: by its machine.
        limits: most bytes of every message.
        round: that the site is in.
    """
    kind = QUESTION if isinstance(said.message, UP) else ""
    kind = REPLY if isinstance(said.message, REPLIES) else kind
    post.send(tx, said.peer, message_frame(encode(said.message, limits)), round, kind)


def let_be(post: Letters, tx: Transaction, event: Input, settings: MachineSettings) -> bool:
    """Whether something that arrived is a question of a peer that is owed too many replies.

    The machine does not hear of it, so nothing is charged for it, and the peer is told nothing.
    """
    if not isinstance(event, Received) or not isinstance(event.message, UP):
        return False
    return not post.may_ask(tx, event.sender, settings.most_replies(event.sender))


def unread(
    post: Letters, tx: Transaction, peers: Sequence[str], settings: MachineSettings
) -> tuple[str, ...]:
    """Those of some peers that leave so many questions unread that others would only join them."""
    return tuple(
        peer
        for peer in peers
        if post.unconfirmed(tx, peer, QUESTION) >= settings.most_questions(peer)
    )


def take_leave(post: Letters, schedule: Timetable) -> None:
    """Stay for as long as peers repeat what they sent last: the receipts may be on their way.

    Who has ended all rounds waits for nothing but that.
    """
    until = schedule.monotonic() + schedule.leave
    while (left := until - schedule.monotonic()) > 0:
        post.wait(post.changes, left)
