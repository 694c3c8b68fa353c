"""What `--log` names: where rounds, scores and cards of models go besides the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from securefair.config.extensions import LOGGERS, extension_of

if TYPE_CHECKING:
    from securefair.run.callbacks import Callback


@contextmanager
def loggers(wanted: Sequence[str], names: Sequence[str], run_name: str) -> Iterator[list[Callback]]:
    """Loggers of extensions, closed at the end however it comes.

    Args:
        wanted: for each its name, then a colon and its place where it has one.
        names: names of the participants.
        run_name: name of the run.

    Raises:
        ConfigError: there is no such logger, or its package is not installed.
    """
    with ExitStack() as opened:
        found: list[Callback] = []
        for one in wanted:
            kind, _, place = one.partition(":")
            make = extension_of(LOGGERS, kind, what="logger", where="--log")
            found.append(opened.enter_context(make(place, names, run_name)))
        yield found
