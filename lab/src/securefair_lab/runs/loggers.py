"""Loggers that hear of a collaboration: TensorBoard and MLflow, also as `--log` of a run.

A logger imports its library when it is made; neither is needed otherwise. Loggers also hear of the
models at the end, with their cards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from securefair.collaboration import KeptModel
from securefair.errors import ConfigError
from securefair.prediction import ModelCard, markdown
from securefair.records import RoundRecord

_SLASH = re.compile("/")
_REFUSED_BY_MLFLOW = re.compile(r"[^\w\-. ]")  # and slashes, which part a tag
_FOLDERS = ("", ".", "..")


def scalars(record: RoundRecord, names: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """The numbers of a round with their tags, such as ("cycle/accuracy/North", 0.8).

    Where a run has several seeds, a record says its own, and so do tags: "cycle/seed 1/...".
    No two numbers have one tag, and no tag is the beginning of another: loggers keep them as files
    in folders. `distinct` says what becomes of names with a slash.

    Args:
        record: record of the round.
        names: names of the participants, in the record's order; numbers from 1 otherwise.

    Raises:
        ConfigError: there are more or fewer names than participants, or two of one name.
    """
    names = distinct(names, _SLASH) or [str(n) for n in range(1, len(record.accuracy) + 1)]
    if len(names) != len(record.accuracy):
        raise ConfigError(
            "a logger needs the names of all participants",
            where="names",
            found=", ".join(names),
            expected=f"{len(record.accuracy)} names",
        )
    stem = _stem(record.algorithm, record.seed)
    for what in ("accuracy", "cross_entropy"):
        values = getattr(record, what)
        yield f"{stem}/mean {what}", sum(values) / len(values)
        for name, value in zip(names, values, strict=True):
            yield f"{stem}/{what}/{name}", value
    for student, row in zip(names, record.reputation, strict=True):
        for teacher, value in zip(names, row, strict=True):
            if value is not None:
                yield f"{stem}/reputation/{student}/{teacher}", value
    asked, answered = (sum(map(sum, rows)) for rows in (record.asked, record.answered))
    if asked:
        yield f"{stem}/answered", answered / asked


def _stem(algorithm: str, seed: int | None) -> str:
    return algorithm if seed is None else f"{algorithm}/seed {seed}"


def distinct(names: Sequence[str], forbidden: re.Pattern[str]) -> list[str]:
    """Names without forbidden characters, which still tell everyone apart.

    Such characters become underscores. A name that another one has then already, or that stands
    for a folder (".", ".." or nothing), is numbered: "A/B" beside "A_B" becomes "A_B 2".

    Raises:
        ConfigError: two are equal as they are given.
    """
    if len(set(names)) != len(names):
        raise ConfigError(
            "two participants have one name", where="names", found=", ".join(sorted(names))
        )
    fits = {name for name in names if not forbidden.search(name) and name not in _FOLDERS}
    taken, result = set(fits), []
    for name in names:
        free = name
        if name not in fits:
            allowed = forbidden.sub("_", name)
            numbered = (f"{allowed} {n}".lstrip() for n in count(2))
            free = allowed
            while free in taken or free in _FOLDERS:
                free = next(numbered)
            taken.add(free)
        result.append(free)
    return result


def card_scores(card: ModelCard, name: str) -> dict[str, float]:
    """The scores of a card with their tags, such as "cycle/test/auc/North" or, of several seeds,
    "cycle/seed 0/test/auc/North"; undefined ones are left out.

    Args:
        card: card of one model.
        name: name of its hospital, as a logger may write it.
    """
    scores = card.model.scores.items()
    stem = _stem(card.algorithm, card.seed if card.seeds > 1 else None)
    return {f"{stem}/test/{score}/{name}": value for score, value in scores if value is not None}


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
    """Writes event files for TensorBoard (extra: `securefair-lab[tensorboard]`).

    Args:
        folder: that `tensorboard --logdir` is given.
        names: names of the participants, in the order of the hospitals.

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
        self._writer.flush()  # a run that is killed goes on behind the rounds that it told

    def on_models(self, kept: Sequence[KeptModel]) -> None:
        """Write every model's card as text, and its scores."""
        for name, one in _named(kept, _SLASH):
            self._writer.add_text(f"{one.card.algorithm}/card/{name}", markdown(one.card))
            for tag, value in card_scores(one.card, name).items():
                self._writer.add_scalar(tag, value)
        self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


class MlflowLogger(_Logger):
    """Logs metrics to the active MLflow run, or one of its own (extra: `securefair-lab[mlflow]`).

    The extra is MLflow's small client, which logs to a server; files and databases on this machine
    need the whole package `mlflow`.

    Args:
        names: names of the participants, in the order of the hospitals.
        run_name: name of the run that is started where none is active, and ended by `close`.

    Raises:
        ConfigError: the package mlflow is not installed, or there is nothing that it can log to.
    """

    def __init__(self, names: Sequence[str] = (), *, run_name: str | None = None) -> None:
        try:
            import mlflow
        except ImportError as error:
            raise _not_installed("mlflow") from error
        self._mlflow: Any = mlflow
        self._names = distinct(names, _REFUSED_BY_MLFLOW)
        self._own = mlflow.active_run() is None
        if self._own:
            try:
                mlflow.start_run(run_name=run_name)
            except (ImportError, mlflow.exceptions.MlflowException) as error:
                raise ConfigError(
                    "mlflow cannot begin a run",
                    where="mlflow",
                    found=" ".join(str(error).split()),
                    hint="Name a server in MLFLOW_TRACKING_URI; files and databases on this "
                    "machine need the whole package: pip install mlflow",
                ) from error

    def on_round(self, record: RoundRecord) -> None:
        """See `Callback`."""
        self._mlflow.log_metrics(dict(scalars(record, self._names)), step=record.round)

    def on_models(self, kept: Sequence[KeptModel]) -> None:
        """Log every model's card as artifacts, card.md and card.json, and its scores as metrics."""
        for name, one in _named(kept, _REFUSED_BY_MLFLOW):
            folder = f"models/{name}"
            self._mlflow.log_text(markdown(one.card), f"{folder}/card.md")
            self._mlflow.log_dict(msgspec.to_builtins(one.card), f"{folder}/card.json")
            self._mlflow.log_metrics(card_scores(one.card, name))

    def close(self) -> None:
        """End the run, if this logger started it."""
        if self._own:
            self._mlflow.end_run()
            self._own = False


def _named(
    kept: Sequence[KeptModel], forbidden: re.Pattern[str]
) -> Iterator[tuple[str, KeptModel]]:
    names = distinct([one.card.hospital for one in kept], forbidden)
    return zip(names, kept, strict=True)


def _not_installed(package: str) -> ConfigError:
    return ConfigError(
        f"{package} is not installed", hint=f"pip install 'securefair-lab[{package}]'"
    )


def log_to_tensorboard(where: str, names: Sequence[str], run_name: str) -> TensorBoardLogger:
    """What `--log tensorboard:FOLDER` means; `where` is the folder, all boards name runs by it.

    Raises:
        ConfigError: no folder; see `TensorBoardLogger`.
    """
    del run_name
    if not where:
        raise ConfigError("a logger needs a folder", where="--log", expected="tensorboard:FOLDER")
    return TensorBoardLogger(where, names)


def log_to_mlflow(where: str, names: Sequence[str], run_name: str) -> MlflowLogger:
    """What `--log mlflow` means; a server is named in MLFLOW_TRACKING_URI alone.

    Raises:
        ConfigError: a place; see `MlflowLogger`.
    """
    if where:
        raise ConfigError(
            "mlflow takes its server elsewhere",
            where="--log",
            found=f"mlflow:{where}",
            hint="Name it in MLFLOW_TRACKING_URI",
        )
    return MlflowLogger(names, run_name=run_name)
