"""Code and queries that a folder brings along run only if its user says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import ConfigError

if TYPE_CHECKING:
    from securefair.config import RunConfig


def check_trusted(config: RunConfig, *, trust: bool) -> None:
    """Refuse a configuration that names code or asks a server, unless its user trusts it.

    `run` is not asked: whoever runs a configuration wants what it says. To look at one, or to take
    up a folder of somebody else's, is no such wish.

    Raises:
        ConfigError: it does; nothing was imported or asked.
    """
    for one in (*config.participants, *config.renewals):
        if one.asks_server and not trust:
            raise ConfigError(
                "this configuration asks a database, with what this machine may log in with",
                where=f"participant {one.name}",
                found=str(one.source).partition("?")[0],
                hint="Read the query; then say --trust",
            )
    entry = config.data.entry
    if entry is not None and not trust:
        raise ConfigError(
            "this configuration brings Python code, which would run now",
            where="data.entry",
            found=entry,
            hint=f"Read {entry.partition(':')[0]}.py in {config.data.module_folder}; "
            "then say --trust. `securefair run` takes it for meant",
        )
