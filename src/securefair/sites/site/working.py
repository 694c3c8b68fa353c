"""A job of a site's machine, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from securefair.collaboration.host import Host
from securefair.errors import ImplausibleError, OtherSumError, RemoteProtocolError, SecureFairError
from securefair.protocol.effects import Blame, Done, Failed
from securefair.protocol.jobs import Job
from securefair.storage import Transaction

Aside: TypeAlias = Callable[[Transaction, Blame | Failed], None]


def worked(host: Host, job: Job) -> Done | Failed:
    """Run a job: its result, or why there is none and whose fault that is."""
    try:
        return Done(job, host.run(job))
    except SecureFairError as error:
        culprit = error.culprit if isinstance(error, RemoteProtocolError) else None
        senders = error.senders if isinstance(error, OtherSumError) else ()
        return Failed(job, str(error), culprit, senders, isinstance(error, ImplausibleError))


def unheard(tx: Transaction, event: Blame | Failed) -> None:
    """An `Aside` that does nothing."""
    del tx, event
