"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results (default: runs/NAME).")
]
SeedsOption = Annotated[
    int | None,
    typer.Option("--seeds", min=1, max=1000, help="Repeat with so many seeds: 0, 1, ..."),
]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--processes",
        min=1,
        max=256,
        help="Processes that share the work (default: one a seed, as cores allow).",
    ),
]
BackendOption = Annotated[
    str | None, typer.Option("--backend", help="Encryption engine, instead of the config's.")
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="What computes on ciphertexts, instead of the config's."),
]
RoundsOption = Annotated[
    int | None,
    typer.Option(
        "--rounds", min=1, help="Protocol rounds, instead of the config's; a transfer has none."
    ),
]
CeilingOption = Annotated[
    bool,
    typer.Option(
        "--ceiling",
        help="Train on everybody's samples together as well, where these may be pooled: shows how "
        "much there is to gain.",
    ),
]
RestartOption = Annotated[
    bool,
    typer.Option(
        "--restart", help="Replace the finished run, or drop the interrupted one, in the folder."
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust", help="Run the code, or ask the server, that the configuration names."),
]
LogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        help="Also log rounds, scores and cards of models (with securefair-lab): mlflow, "
        "tensorboard:FOLDER.",
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace the file if it is there already.")
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by", help="Column of the table by whose groups scores are given too; repeatable."
    ),
]
LanguageOption = Annotated[
    str, typer.Option("--language", help="Of the page that is written, such as de or fr.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="Print nothing but errors and where the results are.")
]
