"""Life after the first day: a site leaves, is erased, is upgraded, or goes on without one peer."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from securefair.collaboration.kept import ModelOrigin, kept_model
from securefair.errors import StorageError
from securefair.prediction import save_model
from securefair.prediction.folder import MODELS, folder_name
from securefair.prediction.versions import versions
from securefair.report import write_json
from securefair.sites.project.agreeing import kind_in
from securefair.sites.project.card import utc
from securefair.sites.project.project import load_project
from securefair.sites.project.terms import spoken
from securefair.sites.site.folder import ERASED, KEYS, OVER, PROJECT, RESULTS, STORE, read_settings
from securefair.sites.site.format import LATEST, bring_up_to_date, format_of
from securefair.sites.site.health import BEAT
from securefair.sites.site.hosting import stored_host
from securefair.sites.site.notes import end_site
from securefair.sites.site.notices import Notice, notice_frame
from securefair.sites.site.records import LEFT, keep_state, state_in, stored_pieces
from securefair.sites.site.starting import OpenPost, carried, open_post, open_site
from securefair.storage import Secret, Store
from securefair.storage.copying import copied
from securefair.user.tables import table_rules

_BLOCK = 1 << 20


def leave(folder: Path, passphrase: Secret, seconds: float = 60.0) -> dict[str, bool]:
    """Tell all peers that this site leaves, so that nobody waits for it; it never starts again.

    Args:
        folder: of the site, which must not run.
        passphrase: of its keystore.
        seconds: that it waits for the peers to hear it. Whoever did not is told by nobody else,
            and goes on without this site after one deadline.

    Returns:
        Whether each peer heard it.

    Raises:
        SecureFairError: the site cannot be opened.
    """
    with (
        # Without its samples: a site whose table cannot be used tells its peers all the same.
        open_post(folder, passphrase, at_any_time=True) as opened,
        carried(folder, opened),
    ):
        post, peers = opened.post, opened.post.peers
        say_farewell(opened, time.time())
        until = time.monotonic() + seconds
        while True:
            since = post.changes
            with opened.store.view() as tx:
                heard = {peer: not post.unconfirmed(tx, peer) for peer in peers}
            if all(heard.values()) or time.monotonic() > until:
                (folder / OVER).touch(mode=0o600)  # for a relay's courier: it carries no more
                return heard
            post.wait(since, 1.0)


def say_farewell(opened: OpenPost, now: float) -> None:
    """Tell all peers that this site leaves; it never runs again.

    Args:
        opened: the site.
        now: seconds since 1970.
    """
    last = _last_round(opened)
    with opened.store.transaction() as tx:
        state = state_in(tx)
        if not state.closed:
            end_site(tx, at=utc(now))
            keep_state(tx, replace(state, closed=True))
        notice = Notice(state.peers.announced, leaves=True)
        for peer in opened.post.peers:
            opened.post.send(tx, peer, notice_frame(notice), last)
        tx.memory.put(LEFT, utc(now).encode())
        tx.audit.append("left", {}, at=utc(now))
    opened.post.announce()


def _last_round(opened: OpenPost) -> int:
    """The round of what it remembers of its machine; -1 where that has not begun."""
    left = stored_host(opened.store, opened.post.peers, None)
    known = left.memory or left.saved_state
    return -1 if known is None else known.round


def erase(folder: Path, now: float) -> Path:
    """Destroy a site's keys, numbers and models; its settings and a note of its end stay.

    Files are overwritten once before they go. On disks that move blocks (SSDs, snapshots, backups)
    earlier contents may survive that: use an encrypted disk, and destroy its key.

    Args:
        folder: of the site, which must not run.
        now: seconds since 1970.

    Returns:
        The note.

    Raises:
        SecureFairError: there is no site, or it runs.
    """
    name = read_settings(folder).name
    with Store.open(folder / STORE) as store, store.view() as tx:
        head = tx.audit.head()
    note = {
        "site": name,
        "erased": utc(now),
        "audit_rows": head.length,
        "audit_head": head.digest.hex(),
    }
    copies = sorted(folder.glob(f"{STORE}.*"))  # of upgrades and recoveries
    for path in [*(folder / part for part in (KEYS, STORE, RESULTS, "passphrase.cred")), *copies]:
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file():
                _overwrite(file)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
    for trace in (OVER, BEAT):
        (folder / trace).unlink(missing_ok=True)
    return write_json(folder / ERASED, note)


@dataclass(frozen=True)
class Upgraded:
    """What an upgrade found and did.

    Attributes:
        found, now: format before and after; the tables of the store have one of their own.
        copy: of the store as it was; None where nothing had to be done.
        goes_on: whether its project's protocol is spoken; sites of another one keep their models
            and records, and exchange nothing more.
    """

    found: int
    now: int
    copy: Path | None
    goes_on: bool


def upgrade(folder: Path) -> Upgraded:
    """Bring a site's store to the format of this version, or refuse before it is touched.

    Raises:
        StorageError: a newer version wrote the store, or it cannot be copied.
        SecureFairError: there is no site, or it runs.
    """
    read_settings(folder)
    goes_on = spoken(load_project(folder / PROJECT).terms.project.protocol)
    found = format_of(folder / STORE)
    with Store.open(folder / STORE, create=False) as store:
        copy = store.before
        if found < LATEST:
            copy = copy or copied(folder / STORE, f"format-{found}")
            bring_up_to_date(store)
    return Upgraded(found, LATEST, copy, goes_on)


def refit(folder: Path, passphrase: Secret, without: str, out: Path) -> Path:
    """The site's model as it would be without one peer, from what is stored: no exchange.

    Args:
        folder: of the site, which must not run.
        passphrase: of its keystore.
        without: the peer.
        out: folder for the results.

    Returns:
        The model's folder.

    Raises:
        ConfigError: this kind keeps nothing that one peer could be taken out of.
        SecureFairError: nothing of that peer is in the model, a model lies there already, or the
            site cannot be opened.
    """
    with open_site(folder, passphrase, at_any_time=True) as opened:
        terms, own = opened.project.terms, opened.own
        opened.project.card(without)
        place = out / MODELS / folder_name(own.name)
        if place.exists():
            raise StorageError(
                "a model lies there already",
                where=str(place),
                hint="Choose another folder with --out",
            )
        with opened.store.view() as tx:
            pieces = stored_pieces(tx)
        host = kind_in(terms).recalled(opened.agreement, own, seed=opened.seed)
        function = host.refitted(pieces, without)
        kept = kept_model(
            ModelOrigin.of(terms.config, Path(opened.settings.data).parent),
            own,
            terms.project.algorithm,
            function,
            controls={},
            taught=[],
            rules=table_rules(terms.config),
            versions=versions(),
        )
        save_model(kept.model, place, card=kept.card)
        return place


def _overwrite(path: Path) -> None:
    with contextlib.suppress(PermissionError), path.open("r+b") as file:
        left = path.stat().st_size
        while left > 0:
            file.write(bytes(min(left, _BLOCK)))
            left -= _BLOCK
        file.flush()
        os.fsync(file.fileno())
