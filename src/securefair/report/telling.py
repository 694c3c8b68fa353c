"""How every command prints lines and documents: nothing in them steers a terminal.

Tables go through `report.screen`. No other module prints.
"""

from __future__ import annotations

import json as escapes

import typer

from securefair.errors import printable


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text for a person; names in it may come from files and peers.

    Args:
        text: what would steer a terminal becomes a question mark.
        err: on standard error.
        nl: with a line break at the end.
    """
    typer.echo(printable(text), err=err, nl=nl)


def say_json(facts: object, *, indent: int | None = None, err: bool = False) -> None:
    """Print one JSON document for a script.

    Args:
        facts: records and plain values. What would steer a terminal is escaped, so a script reads
            what it was.
        indent: spaces for each level; None for one line.
        err: on standard error.
    """
    import msgspec  # which `securefair doctor` reports where it is missing

    encoded = msgspec.json.encode(facts)
    text = encoded if indent is None else msgspec.json.format(encoded, indent=indent)
    typer.echo(printable(text.decode(), instead=lambda found: escapes.dumps(found)[1:-1]), err=err)


def tell(json: bool, text: str, facts: object) -> None:
    """Print sentences for a person, or one JSON document for a script.

    Args:
        json: which.
        text: sentences, a line each.
        facts: records and plain values.
    """
    if json:
        say_json(facts)
    else:
        say(text)
