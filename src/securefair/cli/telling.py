"""How commands between hospitals answer: sentences, or the same facts as JSON."""

from __future__ import annotations

import typer


def tell(json: bool, text: str, facts: object) -> None:
    """Print sentences for a person, or one JSON document for a script.

    Args:
        json: which.
        text: sentences, a line each.
        facts: records and plain values.
    """
    import msgspec

    typer.echo(msgspec.json.encode(facts).decode() if json else text)
