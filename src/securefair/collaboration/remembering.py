"""What every kind's participant remembers alike: what peers uploaded, shares under masks, and who
was in which of its own tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from securefair.averaging import Share, Shares
from securefair.collaboration.host import KEPT, FittedToAll, Stored
from securefair.data.dataset import ParticipantData
from securefair.model.seeds import derive_seed
from securefair.privacy.membership import Membership
from securefair.protocol.jobs import ImportPeer
from securefair.protocol.messages import Features, Keys

if TYPE_CHECKING:
    from securefair.collaboration.described import Described
    from securefair.collaboration.validated import HospitalValidation
    from securefair.model.transfer import LinearEstimates
    from securefair.worth.page import Groups

SHARE, UPLOAD = "share ", "upload "
"""Begin the names of masked shares, by peer and round, and of what a peer uploaded."""

MEMBERS = KEPT + "members"
"""Who was in which of the own tables; after a recovery peers know them all the same."""


class Remembering:
    """A participant whose process may end: the base of every kind's.

    A kind has two classes. The first holds mathematics and secrets and carries out jobs; it calls
    `_take_up` once it is made. The second, its host, says after every job which named pieces
    changed, and takes them up again in `_restore`.

    Args:
        stored: of an earlier process, or of none; None remembers nothing.
    """

    name: str
    data: ParticipantData
    _seed: int

    def __init__(self, stored: Stored | None) -> None:
        self._remembers = stored is not None
        self._keep = (stored or Stored()).keep
        self._changed: dict[str, bytes | None] = {}
        self.restored = False
        self._membership = Membership()

    def changed(self) -> Mapping[str, bytes | None]:
        """See `Host`."""
        changed, self._changed = self._changed, {}
        return changed

    def left_out(self) -> Sequence[str]:
        """See `Host`: nobody, as in most kinds."""
        return ()

    @property
    def temperature(self) -> float | None:
        """See `Host`: none, as in most kinds."""
        return None

    def idle(self) -> bool:
        """See `Host`: nothing is known before it is asked, as in most kinds."""
        return False

    def check_renewal(self, data: ParticipantData) -> None:
        """See `Host`."""
        self._members_with(data)

    def _members_with(self, data: ParticipantData) -> Membership:
        """Who was in which table, with these patients as the next.

        Raises:
            DataError: too few changed.
        """
        key = derive_seed(self._seed, "membership", self.name).to_bytes(16, "big")
        known = self._membership
        if not known.tables:
            known = known.plus(self.data.train, key)
        members = known.plus(data.train, key)
        members.check(self.name)
        return members

    def _note_members(self, data: ParticipantData) -> None:
        """Keep who is in the next table, once it may be.

        Raises:
            DataError: see `_members_with`.
        """
        self._membership = self._members_with(data)
        if self._remembers:
            self._changed[MEMBERS] = msgspec.msgpack.encode(self._membership)

    def estimates(self, pieces: Mapping[str, bytes] | None = None) -> LinearEstimates | None:
        """See `Host`: none, as in most kinds."""
        del pieces
        return None

    def fitted_to_all(self, pieces: Mapping[str, bytes] | None = None) -> FittedToAll | None:
        """See `Host`: none, as in most kinds."""
        del pieces
        return None

    def validation(
        self, *, groups: Groups | None = None, pieces: Mapping[str, bytes] | None = None
    ) -> HospitalValidation | None:
        """See `Host`: none, as in most kinds."""
        del groups, pieces
        return None

    def description(self, pieces: Mapping[str, bytes] | None = None) -> Described | None:
        """See `Host`: none, as in most kinds."""
        del pieces
        return None

    def _take_up(self, pieces: Mapping[str, bytes]) -> None:
        """Go on from what an earlier process has left, if it left anything."""
        if MEMBERS in pieces:
            self._membership = msgspec.msgpack.decode(pieces[MEMBERS], type=Membership)
        self.restored = bool(pieces)
        if self.restored:
            self._restore(pieces)

    def _restore(self, pieces: Mapping[str, bytes]) -> None:
        """Take up the pieces of a kind; without a host nothing is remembered."""
        del pieces

    def _remember_import(self, job: ImportPeer) -> None:
        self._changed[UPLOAD + job.peer] = msgspec.msgpack.encode((job.keys, job.features))

    def _remember_share(self, share: Share) -> None:
        asked = share.gathering
        name = f"{SHARE}{asked.receiver} {asked.round}"
        self._changed[name] = msgspec.msgpack.encode(share)

    def _forget_shares(self, gone: Iterable[tuple[str, int]]) -> None:
        """Of these receivers and rounds, of which nothing is sent again."""
        self._changed |= {f"{SHARE}{peer} {round}": None for peer, round in gone}


def stored_imports(pieces: Mapping[str, bytes]) -> Iterator[ImportPeer]:
    """Jobs that import again what peers had uploaded."""
    for name, data in pieces.items():
        if name.startswith(UPLOAD):
            upload = msgspec.msgpack.decode(data)
            if isinstance(upload[0], int):  # keys alone, as earlier versions wrote some
                upload = upload, None
            keys, features = msgspec.convert(upload, tuple[Keys, Features | None])
            yield ImportPeer(name.removeprefix(UPLOAD), keys, features)


def stored_shares(pieces: Mapping[str, bytes], floor: int) -> Shares:
    """Shares as they were closed; nobody makes another under the same masks.

    Args:
        pieces: of one participant.
        floor: the first round that is still open for shares.
    """
    shares = Shares(floor=floor)
    for name, data in pieces.items():
        if name.startswith(SHARE):
            shares = shares.having(msgspec.msgpack.decode(data, type=Share))
    return shares
