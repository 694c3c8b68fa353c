"""What commands ask where a label is no class: columns of a time, a number or a count."""

from __future__ import annotations

from typing import Annotated

import typer

OutcomeOption = Annotated[
    str | None,
    typer.Option("--outcome", help="What the label is if no class: number or count."),
]
TimeOption = Annotated[
    str | None,
    typer.Option("--time", help="Column of the time to an event (beside --event)."),
]
EventOption = Annotated[
    str | None,
    typer.Option("--event", help="Column that says whether the event came: 1, or not: 0."),
]
ExposureOption = Annotated[
    str | None,
    typer.Option("--exposure", help="Column of what a count was counted over."),
]


def known_keys(
    label: str | None,
    outcome: str | None,
    time: str | None,
    event: str | None,
    exposure: str | None,
) -> dict[str, object]:
    """What [table] says of a label that is no class; nothing for classes.

    Raises:
        ConfigError: there is no such outcome; or a time to an event has one column alone, or
            another label beside it.
    """
    from securefair.config.registers import OUTCOMES
    from securefair.errors import ConfigError
    from securefair.model.outcomes.register import outcome_with

    if time is not None and (label is not None or outcome is not None):
        raise ConfigError(
            "a time to an event is the label already",
            where="--time",
            found="--label" if label is not None else "--outcome",
            expected="--time and --event, and neither of these",
        )
    if (time is None) != (event is None):
        raise ConfigError(
            "a time to an event has two columns",
            where="--time, --event",
            found="one of them",
            expected="both",
        )
    if outcome is not None and outcome not in OUTCOMES:
        raise ConfigError(
            "there is no such outcome",
            where="--outcome",
            found=outcome,
            expected="number or count",
            hint="Classes need no --outcome; a time to an event is --time and --event",
        )
    found = {
        "outcome": outcome if time is None else outcome_with("event").name,
        "event": event,
        "exposure": exposure,
    }
    return {key: value for key, value in found.items() if value is not None}
