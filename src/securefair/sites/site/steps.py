"""Steps between formats of what a site stores; a released step never changes.

A step knows names and places as literals: what today's classes are called may change once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from securefair.storage import Transaction

_ROUND = {"GATHERING": "RECEIVING"}
_RECEIVING = {"SEALED": "CLOSED"}
_SENDING = {"SEALING": "MAKING", "SEALED": "SENT", "WITHHELD": "REFUSED"}


def to_format_2(tx: Transaction) -> None:
    """Format 1 to 2: shares of sums and their states have other names (`protocol.states`)."""
    machine = tx.memory.get("machine")
    if machine is not None:
        memory = msgspec.msgpack.decode(machine)
        memory[4] = _ROUND.get(memory[4], memory[4])
        tx.memory.put("machine", msgspec.msgpack.encode(_renamed(memory)))
    for name in tx.memory.names("host share "):
        share = msgspec.msgpack.decode(tx.memory.get(name) or b"", type=dict[str, Any])
        renamed = {"closed" if key == "sealed" else key: value for key, value in share.items()}
        tx.memory.put(name, msgspec.msgpack.encode(renamed))


def to_format_3(tx: Transaction) -> None:
    """Format 2 to 3: machines speak another protocol, so what one remembered serves nobody.

    Projects of the former protocol are refused where they are read. Models, records and the ledger
    stay.
    """
    for name in ("machine", *tx.memory.names("machine blob "), *tx.memory.names("host share ")):
        tx.memory.delete(name)


def _renamed(value: Any) -> Any:
    """Objects are lists of a class's name and its fields (`protocol.stored`)."""
    match value:
        case ["Sum", int() as attempt, list() as senders, list() as states, *rest]:
            moved = [[name, _of(state, _RECEIVING)] for name, state in states]
            return ["Sum", attempt, senders, moved, *map(_renamed, rest)]
        case ["Contributing", list() as asked, str() as state, *rest]:
            return ["Sending", asked, _of(state, _SENDING), *map(_renamed, rest)]
        case ["Contribute", *fields]:
            return ["MakeShare", *fields]
        case list():
            return [_renamed(one) for one in value]
    return value


def _of(state: str, names: Mapping[str, str]) -> str:
    return names.get(state, state)
