"""The register of packings: a new packing is a file or a folder and one line here."""

from __future__ import annotations

from functools import cache
from typing import Any

from securefair.circuit.packings.interface import Packing
from securefair.config.registers import looked_up
from securefair.errors import PlanError

REGISTERED: dict[str, str] = {
    "alone": "securefair.circuit.packings.alone",
    "pairs": "securefair.circuit.packings.pairs",
    "beside": "securefair.circuit.packings.beside",
    "monomials": "securefair.circuit.packings.monomials.packing",
}
"""Where each packing stands, in the order in which a plan tries them; the first one fits all."""


def part_of(name: str, part: str) -> Any:
    """What a packing's module calls so: see `interface`.

    Raises:
        PlanError: there is no such packing.
    """
    return looked_up(
        REGISTERED,
        name,
        part,
        problem="there is no such packing",
        where="packing",
        error=PlanError,
    )


@cache
def packing_of(name: str) -> Packing:
    """The packing of that name.

    Raises:
        PlanError: there is none.
    """
    found: Packing = part_of(name, "PACKING")
    return found
