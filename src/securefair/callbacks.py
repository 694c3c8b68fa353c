"""Who hears of a collaboration while it runs: anything with `on_round`, and two loggers.

A logger imports its library when it is made; neither is needed otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from securefair.errors import ConfigError
from securefair.records import RoundRecord


class Callback(Protocol):
    """Hears of every round, in order, from the thread that runs them.

    What it raises ends the run and reaches the caller of `collaborate`.
    """

    def on_round(self, record: RoundRecord) -> None:
        """A round is over."""


def scalars(record: RoundRecord, names: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """The numbers of a round with their tags, such as ("cycle/accuracy/North", 0.8).

    No tag is the beginning of another: loggers keep them as files in folders.

    Args:
        record: of the round.
        names: of the participants, in the record's order; numbers from 1 otherwise.

    Raises:
        ConfigError: there are more or fewer names than participants.
    """
    names = [name.replace("/", "_") for name in names]
    names = names or [str(n) for n in range(1, len(record.accuracy) + 1)]
    if len(names) != len(record.accuracy):
        raise ConfigError(
            "a logger needs the names of all participants",
            where="names",
            found=", ".join(names),
            expected=f"{len(record.accuracy)} names",
        )
    for what in ("accuracy", "cross_entropy"):
        values = getattr(record, what)
        yield f"{record.algorithm}/mean {what}", sum(values) / len(values)
        for name, value in zip(names, values, strict=True):
            yield f"{record.algorithm}/{what}/{name}", value
    for student, row in zip(names, record.reputation, strict=True):
        for teacher, value in zip(names, row, strict=True):
            if value is not None:
                yield f"{record.algorithm}/reputation/{student} of {teacher}", value
    asked, answered = (sum(map(sum, rows)) for rows in (record.asked, record.answered))
    if asked:
        yield f"{record.algorithm}/answered", answered / asked


class _Logger:
    """A callback that is closed at the end of a with statement."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing more will be logged."""


class TensorBoardLogger(_Logger):
    """Writes event files for TensorBoard (extra: `securefair[tensorboard]`).

    Args:
        folder: that `tensorboard --logdir` is given.
        names: of the participants, in the order of the hospitals.

    Raises:
        ConfigError: the package tensorboard is not installed.
    """

    def __init__(self, folder: Path | str, names: Sequence[str] = ()) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise _not_installed("tensorboard") from error
        self._writer: Any = SummaryWriter(str(folder))
        self._names = names

    def on_round(self, record: RoundRecord) -> None:
        """See `Callback`."""
        for tag, value in scalars(record, self._names):
            self._writer.add_scalar(tag, value, record.round)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


class MlflowLogger(_Logger):
    """Logs metrics to the active MLflow run, or to one of its own (extra: `securefair[mlflow]`).

    The extra is MLflow's small client, which logs to a server; files and databases on this machine
    need the whole package `mlflow`.

    Args:
        names: of the participants, in the order of the hospitals.
        run_name: of the run that is started where none is active, and ended by `close`.

    Raises:
        ConfigError: the package mlflow is not installed.
    """

    def __init__(self, names: Sequence[str] = (), *, run_name: str | None = None) -> None:
        try:
            import mlflow
        except ImportError as error:
            raise _not_installed("mlflow") from error
        self._mlflow: Any = mlflow
        self._names = names
        self._own = mlflow.active_run() is None
        if self._own:
            mlflow.start_run(run_name=run_name)

    def on_round(self, record: RoundRecord) -> None:
        """See `Callback`."""
        metrics = {_allowed(tag): value for tag, value in scalars(record, self._names)}
        self._mlflow.log_metrics(metrics, step=record.round)

    def close(self) -> None:
        """End the run, if this logger started it."""
        if self._own:
            self._mlflow.end_run()
            self._own = False


def _allowed(tag: str) -> str:
    """MLflow takes letters, digits, underscores, dashes, dots, spaces and slashes."""
    return re.sub(r"[^\w\-./ ]", "_", tag)


def _not_installed(package: str) -> ConfigError:
    return ConfigError(f"{package} is not installed", hint=f"pip install 'securefair[{package}]'")
