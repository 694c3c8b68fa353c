"""What all sections of a configuration share: strictness, and errors that carry facts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from securefair.errors import ConfigError


def _ratio(value: object) -> object:
    """Let a TOML string "1/3" stand for the number that TOML itself cannot write."""
    if not isinstance(value, str):
        return value
    try:
        return float(Fraction(value))
    except (ValueError, ZeroDivisionError):
        return value  # the float check that follows refuses it with the usual message


Ratio = Annotated[float, BeforeValidator(_ratio)]


def contradiction(key: str, problem: str, *, found: object, expected: str) -> PydanticCustomError:
    """An error about several keys together, in the shape that `loading` reports.

    Args:
        key: dotted key relative to the model that raises it.
        problem: what is wrong with the combination.
        found: the offending value.
        expected: what would have been accepted.
    """
    facts = {"key": key, "problem": problem, "found": found, "expected": expected}
    return PydanticCustomError("contradiction", "{problem}", facts)


def refuse_repeats(key: str, values: Sequence[object]) -> None:
    """Raise a contradiction if a value stands twice in a list."""
    if len(set(values)) < len(values):
        raise contradiction(
            key, "a value is listed twice", found=list(values), expected="distinct values"
        )


class Section(BaseModel):
    """Settings shared by all sections; what Python code gets wrong is a `ConfigError`."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, validate_default=True
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _refusal(type(self).__name__, values.get("name"), error) from None

    # What is made inside of another section is told by `loading`, with its place in the file.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    own_matter: ClassVar[frozenset[str]] = frozenset()
    """Keys that everyone decides alone, so that no agreement is about them."""

    later: ClassVar[frozenset[str]] = frozenset()
    """Keys that came after the oldest protocol that is spoken. The default of such a key means what
    was done before it came, so a project that does not name it goes on."""

    def agreed(self) -> dict[str, Any]:
        """What an agreement is about, as plain values: every key, given or not, in one order.

        A later key is left out where it has its default: older versions do not know it.
        """
        plain = self.model_dump(mode="json", exclude={*self.own_matter, *self.unsaid})
        return {key: plain[key] for key in sorted(plain)}

    @property
    def unsaid(self) -> frozenset[str]:
        """Later keys at their default."""
        return frozenset(key for key in self.later if has_default(self, key))


def _refusal(section: str, name: object, error: ValidationError) -> ConfigError:
    """The first mistake, where somebody wrote a section in Python."""
    first = error.errors()[0]
    facts = first.get("ctx", {}) if first["type"] == "contradiction" else {}
    key = facts.get("key") or ".".join(map(str, first["loc"]))
    return ConfigError(
        first["msg"],
        where=", ".join(str(part) for part in (name, key or section) if part),
        found=facts.get("found", first["input"]),
        expected=facts.get("expected"),
    )


def has_default(section: Section, key: str) -> bool:
    """Whether a key says what holds without it; one that must be given never does."""
    return bool(getattr(section, key) == type(section).model_fields[key].default)
