"""A site's participant, as its store, keystore and settings have it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from securefair.collaboration.agreement import Agreement
from securefair.collaboration.host import Host, Stored
from securefair.collaboration.kinds import refuse_unread
from securefair.collaboration.told import TellingLedger
from securefair.config import RunConfig, override
from securefair.data import ParticipantData
from securefair.errors import LocalProtocolError, StorageError
from securefair.protocol.stored import decode_memory
from securefair.sites.project.agreeing import kind_in
from securefair.sites.project.project import Project
from securefair.sites.site.folder import SITE, STUDENT_KEYS, SiteSettings
from securefair.sites.site.keeping import BLOB, MACHINE
from securefair.sites.site.records import HOST, RECOVERED, stored_pieces
from securefair.sites.site.recovery import recovered_in
from securefair.storage import Keystore, Secret, Store
from securefair.storage.files import DamagedError


def host_of(
    data: ParticipantData,
    project: Project,
    agreement: Agreement,
    store: Store,
    keys: Keystore,
    seed: int,
    settings: SiteSettings,
) -> Host:
    """The participant as it was, or for the first time.

    Raises:
        StorageError: it has begun, and the keys of what peers know are gone.
    """
    known = STUDENT_KEYS in keys.names()
    stored = stored_host(
        store,
        agreement.met_by(data.name),
        keys.get(STUDENT_KEYS) if known else None,
        keep=lambda renewed: keys.put(STUDENT_KEYS, renewed, replace=True),
        told=settings.ledger,
    )
    if stored.memory is not None and not known:  # under new ones none could be opened
        raise StorageError(
            "this site's keys as a student are gone: a recovery was interrupted",
            where=str(store.folder),
            hint="Run `securefair site recover` again",
        )
    config, kind = own_config(project, settings), kind_in(project.terms)
    if config is not project.terms.config:
        agreement = kind.agree(config, agreement.facts, seed=agreement.seed)
    host = kind.host(agreement, data, seed=seed, stored=stored, role=settings.role)
    if not known:
        keys.put(STUDENT_KEYS, host.export_keys())
    return host


def has_begun(store: Store, keys: Keystore) -> bool:
    """Whether there was ever a participant: something may rest on its samples."""
    if STUDENT_KEYS in keys.names():
        return True
    with store.view() as tx:
        left = [tx.memory.get(MACHINE), tx.memory.get(RECOVERED), tx.memory.names(HOST)]
        return any(left) or bool(tx.privacy.budgets())


def own_config(project: Project, settings: SiteSettings) -> RunConfig:
    """What was agreed, with the device of this site.

    Raises:
        ConfigError: no such device, or the kind of collaboration computes on none.
    """
    config = project.terms.config
    if settings.device == config.encryption.device:
        return config
    config = override(config, {"encryption.device": settings.device}, source=SITE)
    refuse_unread(config)
    return config


def stored_host(
    store: Store,
    peers: tuple[str, ...],
    keys: Secret | None,
    *,
    keep: Callable[[Secret], None] = lambda _: None,
    told: TellingLedger | None = None,
) -> Stored:
    """What the processes before this one have left of the participant.

    Args:
        store: of the site.
        peers: all others.
        keys: in the keystore; None: none yet.
        keep, told: see `Stored`.
    """
    with store.view() as tx:
        left = recovered_in(tx)

        def load(digest: bytes) -> bytes:
            found = tx.memory.get(BLOB + digest.hex())
            if found is None:
                raise KeyError(digest.hex())
            return found

        data = tx.memory.get(MACHINE)
        try:
            memory = None if data is None else decode_memory(data, load)
        except LocalProtocolError as error:  # of what this version has written
            raise DamagedError(store.folder or Path("memory"), error.found) from error
        return Stored(
            pieces=stored_pieces(tx),
            keys=keys,
            memory=memory,
            saved_state=None if left is None else left.saved_state(peers),
            key_epoch=0 if left is None else left.key_epoch,
            budget=store,
            keep=keep,
            told=told,
        )
