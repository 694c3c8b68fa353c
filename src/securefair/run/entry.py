"""How far one algorithm of one seed has come, on disk.

    NAME.rounds.jsonl       one record a line
    NAME.exchanges.jsonl
    NAME.state              how many of these lines count; replaced as a whole after every round of
                            a collaboration, otherwise at the end
    NAME.sites/             a store for each participant, where they exchange bytes
    NAME.heard              a byte for each round that callbacks have heard of (`run.hearing`)

Lines are written before the state that counts them, and lines that no state counts are dropped, so
the end of the process between the two repeats a round and loses or doubles none. Nothing waits for
the disk, which would take longer than many a round: a power cut can damage a checkpoint, which is
noticed. The states hold the models of all participants, which only a simulation has in one place;
they are readable by their owner only.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.observer import Seen
from securefair.errors import DataError
from securefair.prediction.effects import ColumnEstimate
from securefair.records import ExchangeRecord, RoundRecord
from securefair.report import write_bytes

HEARD = "heard"

R = TypeVar("R", RoundRecord, ExchangeRecord)


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """How far one algorithm of one seed has come.

    Attributes:
        rounds, exchanges: lines that count.
        seconds: that it took, over all processes.
        seen: what no store of a site remembers; None where there are no stores.
        finished: no round is left.
        facts: facts of a finished encrypted run.
        interrupted: how often another process went on with it.
        models: everyone's, once finished (`model.stored.to_bytes`).
        estimates: of everyone's coefficients, once finished, where they are asked for.
        refitted: models fitted anew to all own samples, and their temperatures, likewise.
    """

    rounds: int
    exchanges: int
    seconds: float
    seen: Seen | None = None
    finished: bool = False
    facts: RunFacts | None = None
    interrupted: int = 0
    models: dict[str, bytes] = {}
    estimates: dict[str, list[ColumnEstimate]] = {}
    refitted: dict[str, tuple[bytes, float]] = {}


@dataclass(eq=False)
class Entry:
    """One algorithm of one seed: what is known of it, and how to write more.

    Attributes:
        path: path of its files, without a suffix; None keeps everything in memory.
    """

    path: Path | None
    state: RunState | None = None
    rounds: list[RoundRecord] = field(default_factory=list)
    exchanges: list[ExchangeRecord] = field(default_factory=list)

    def append(self, rounds: Sequence[RoundRecord], exchanges: Sequence[ExchangeRecord]) -> None:
        """Add records; they count when `save` says so."""
        if self.path is not None:
            _append(_file(self.path, "rounds.jsonl"), rounds)
            _append(_file(self.path, "exchanges.jsonl"), exchanges)
        self.rounds += rounds
        self.exchanges += exchanges

    def save(self, state: RunState) -> None:
        """Replace the state, atomically."""
        if self.path is not None:
            write_bytes(
                _file(self.path, "state"),
                msgspec.msgpack.encode(state),
                private=True,
                durable=False,
            )
        self.state = state

    def load(self) -> None:
        """Read the state and the lines that it counts; drop the others.

        What has no stores to go on from begins anew, unless it is finished.

        Raises:
            DataError: a file is damaged.
        """
        if self.path is None:
            return
        path = _file(self.path, "state")
        if not path.exists():
            self.restart()
            return
        try:
            self.state = msgspec.msgpack.decode(path.read_bytes(), type=RunState)
        except msgspec.DecodeError as error:
            raise DataError("a state is damaged", where=str(path), found=str(error)) from error
        if not self.state.finished and self.state.seen is None:
            self.restart()
            return
        self.rounds = _lines(_file(self.path, "rounds.jsonl"), self.state.rounds, RoundRecord)
        self.exchanges = _lines(
            _file(self.path, "exchanges.jsonl"), self.state.exchanges, ExchangeRecord
        )

    @property
    def stores(self) -> Path | None:
        """Where participants keep what they remember; None: in memory."""
        return None if self.path is None else _file(self.path, "sites")

    def drop_stores(self) -> None:
        """The algorithm is over, or begins anew."""
        if self.stores is not None:
            shutil.rmtree(self.stores, ignore_errors=True)

    def restart(self) -> None:
        """Forget everything: the algorithm begins anew."""
        self.drop_stores()
        if self.path is not None:
            for name in ("state", "rounds.jsonl", "exchanges.jsonl", HEARD):
                _file(self.path, name).unlink(missing_ok=True)
        self.state, self.rounds, self.exchanges = None, [], []


def _file(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def _append(path: Path, rows: Sequence[RoundRecord] | Sequence[ExchangeRecord]) -> None:
    if not rows:
        return
    with path.open("ab") as file:
        file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)


def _lines(path: Path, count: int, kind: type[R]) -> list[R]:
    """The first lines as records; whatever follows is cut off."""
    if not count:
        path.unlink(missing_ok=True)
        return []
    try:
        lines = path.read_bytes().split(b"\n")
        rows = [msgspec.json.decode(line, type=kind) for line in lines[:count]]
    except (OSError, msgspec.DecodeError) as error:
        raise DataError("records are damaged", where=str(path), found=str(error)) from error
    if len(rows) < count:
        raise DataError(
            "records are damaged", where=str(path), found=f"{len(rows)} lines", expected=str(count)
        )
    if len(lines) > count + 1:  # the last part is empty: every record ends with a line break
        write_bytes(path, b"\n".join(lines[:count]) + b"\n")
    return rows
