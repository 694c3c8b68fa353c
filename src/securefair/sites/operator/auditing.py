"""A site's audit log, checked by itself and against what its peers have seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from securefair.errors import ConfigError
from securefair.sites.post.peers import read_peer
from securefair.sites.site.folder import STORE, project_of, read_settings
from securefair.sites.site.records import peers_of
from securefair.storage import Access, AuditHead, Store


def verified(folder: Path, heads: Sequence[str]) -> tuple[int, str]:
    """Rows and head of a log that is whole.

    Args:
        folder: of the site.
        heads: "ROWS:HASH" as peers printed them.

    Raises:
        StorageError: a row was changed or is missing.
        ConfigError: a head cannot be read.
    """
    known = [_head(text) for text in heads]
    with Store.open(folder / STORE, access=Access.READ) as store, store.view() as tx:
        head = tx.audit.verify(known)
    return head.length, head.digest.hex()


def seen_heads(folder: Path) -> dict[str, str]:
    """The newest head of every peer's log that its envelopes carried, as "ROWS:HASH"."""
    settings, project = read_settings(folder), project_of(folder)
    found = {}
    with Store.open(folder / STORE, access=Access.READ) as store, store.view() as tx:
        for name in peers_of(tx, project, settings.name):
            seen = read_peer(tx, name).seen
            found[name] = f"{seen.length}:{seen.digest.hex()}"
    return found


def _head(text: str) -> AuditHead:
    rows, _, digest = text.partition(":")
    try:
        return AuditHead(int(rows), bytes.fromhex(digest))
    except ValueError:
        raise ConfigError(
            "this is no head", where="--head", found=text[:80], expected="ROWS:HASH"
        ) from None
