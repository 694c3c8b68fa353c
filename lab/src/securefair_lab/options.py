"""Options that commands share, beside those that ask for an exchange."""

from __future__ import annotations

from typing import Annotated

import typer

from securefair.profiling.options import key_option

EngineOption = Annotated[str, key_option("encryption.backend", "--backend")]
DeviceOption = Annotated[str, key_option("encryption.device", "--device")]
ThreadsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Threads of all libraries together (default: all cores)."),
]
RepeatsOption = Annotated[int, typer.Option(min=1, help="Figures are medians of so many runs.")]
WarmOption = Annotated[
    bool,
    typer.Option(
        "--warm", help="Measure touched memory, not a fresh process as users meet it (default)."
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace the file if it is there already.")
]
