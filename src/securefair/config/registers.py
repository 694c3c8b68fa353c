"""What may exist several times and a configuration chooses by name: where each stands, a line each.

This is the one line that a new one needs beside its own file. Rooms look their own up here, and
sections take no other word. It imports nothing but what is looked up, so every room may import it,
also those beside `config`, and neither side of an exchange loads pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from securefair.errors import ConfigError, SecureFairError

RELEASES: dict[str, str] = {
    "loss": "securefair.releases.loss",
    "class_sums": "securefair.releases.class_sums",
    "projection": "securefair.releases.projection",
    "logits": "securefair.releases.logits",
    "alignment": "securefair.releases.alignment",
    "summed_fits": "securefair.releases.summed_fits",
    "counts": "securefair.releases.counts",
}

BACKENDS: dict[str, str] = {
    "seal": "securefair.ckks.backends.seal:SealBackend",
    "rns": "securefair.ckks.backends.rns:RnsBackend",
    "clear": "securefair.ckks.backends.clear:ClearBackend",
    "openfhe": "securefair.ckks.backends.openfhe:OpenfheBackend",
}

AVERAGINGS: dict[str, str] = {
    "masked": "securefair.averaging.masked:MaskedSums",
    "ckks": "securefair.averaging.ckks:CkksSums",
    "crypten": "securefair.averaging.crypten:CryptenSums",
    "clear": "securefair.averaging.clear:ClearSums",
}

OUTCOMES: dict[str, str] = {
    "two_classes": "securefair.model.outcomes.two_classes",
    "several_classes": "securefair.model.outcomes.several_classes",
    "number": "securefair.model.outcomes.number",
    "count": "securefair.model.outcomes.count",
    "time": "securefair.model.outcomes.time",
}
"""What a study may predict."""

SUMS: dict[str, str] = {
    "gradient": "securefair.model.transfer.sums.gradient",
    "curvature": "securefair.model.transfer.sums.curvature",
}
"""What hospitals add up of their fits."""

IN_CODE_ALONE = frozenset(
    {"alignment", "summed_fits", "counts", "openfhe", "two_classes", "several_classes"}
)
"""No words of a configuration: what kinds release by themselves, what is there to compare, and
outcomes that the codes of a label tell."""


def looked_up(
    register: Mapping[str, str],
    name: str,
    part: str = "",
    *,
    problem: str,
    where: str | None = None,
    error: type[SecureFairError] = ConfigError,
) -> Any:
    """What a line of a register names, imported now.

    Args:
        register: modules by name, or "module:attribute".
        name: of the line.
        part: which attribute of the module, where the line names none.
        problem, where, error: what is said where there is no such line.
    """
    if name not in register:
        import difflib

        close = difflib.get_close_matches(name, register, n=1)
        raise error(
            problem,
            where=where,
            found=name,
            expected=", ".join(register),
            hint=f"Did you mean {close[0]}" if close else None,
        )
    module, _, attribute = register[name].partition(":")
    return getattr(import_module(module), part or attribute)


@dataclass(frozen=True, eq=False)  # a union of types hashes it
class Named:
    """The type of a key that names a line of a register: `Annotated[str, Named(RELEASES)]`.

    Attributes:
        register: the lines of now, so that what is added later is taken.
        more: words besides.
    """

    register: Mapping[str, str]
    more: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """All that is taken, in the order of the register."""
        return [*self.more, *(name for name in self.register if name not in IN_CODE_ALONE)]

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, _schema: object, _handler: object) -> dict[str, Any]:
        return {"type": "string", "enum": self.words}

    def _check(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            from pydantic_core import PydanticCustomError

            raise PydanticCustomError("literal_error", "a value is not one of those allowed")
        return value
