"""What `--log` names: where rounds, scores and cards of models go besides the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from securefair.errors import ConfigError

if TYPE_CHECKING:
    from securefair.run.callbacks import Callback


@contextmanager
def loggers(wanted: Sequence[str], names: Sequence[str], run_name: str) -> Iterator[list[Callback]]:
    """Loggers, closed at the end however it comes.

    Args:
        wanted: "mlflow", or "tensorboard:FOLDER".
        names: names of the participants.
        run_name: name of the run.

    Raises:
        ConfigError: there is no such logger, or its package is not installed.
    """
    from securefair.run.callbacks import MlflowLogger, TensorBoardLogger

    with ExitStack() as opened:
        found: list[Callback] = []
        for one in wanted:
            kind, _, folder = one.partition(":")
            if kind == "tensorboard" and folder:
                found.append(opened.enter_context(TensorBoardLogger(folder, names)))
            elif one == "mlflow":
                found.append(opened.enter_context(MlflowLogger(names, run_name=run_name)))
            else:
                raise ConfigError(
                    "there is no such logger",
                    where="--log",
                    found=one,
                    expected="mlflow or tensorboard:FOLDER",
                )
        yield found
