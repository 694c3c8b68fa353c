"""The process of one site in a rehearsal.

It runs what `securefair site start` runs, but for two things that no site in earnest takes from
outside: a common seed, and a courier that fails on purpose. And it notes what it hands over.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from securefair.errors import SecureFairError
from securefair.report import write_text
from securefair.sites.couriers.faulty import faulty
from securefair.sites.post.port import HandOver
from securefair.sites.rehearsal.witness import SENT, noting
from securefair.sites.site.starting import Rehearsal, carried, open_site
from securefair.storage import unlock

FAILED = "failed"
"""File in a rehearsed site's folder: why it could not go on."""


def run_rehearsed(folder: Path, passphrase_file: Path, seed: int, faults: float) -> None:
    """Run one site to its end.

    Raises:
        SecureFairError: it cannot go on.
    """

    def spoil(peer: str, hand_over: HandOver) -> HandOver:
        spoilt = faulty(hand_over, faults, f"{folder.name} {peer} {os.getpid()}")
        if peer == folder.name:
            return spoilt  # arrivals; their senders cannot note them
        return noting(spoilt, peer, folder / SENT)

    rehearsal = Rehearsal(seed=seed, spoil=spoil)
    passphrase = unlock(file=passphrase_file)
    with (
        open_site(folder, passphrase, rehearsal=rehearsal) as opened,
        carried(folder, opened, spoil),
    ):
        opened.site.run()


def play_site(folder: Path, passphrase_file: Path, seed: int, faults: float) -> None:
    """The same in a process of its own: what went wrong stands in the site's folder."""
    try:
        run_rehearsed(folder, passphrase_file, seed, faults)
    except SecureFairError as problem:
        write_text(folder / FAILED, str(problem))
        sys.exit(1)
