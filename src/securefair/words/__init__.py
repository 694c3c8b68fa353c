"""Words of pages that people read, by language: a file of templates each.

A key leads to a template; names of values stand in it in braces. Every language has the same keys
and asks for the same values, which `tests/unit/words` checks. A language is a file of this folder:
nothing else knows which there are.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from securefair.errors import ConfigError

ENGLISH = "en"

THIN = "\u00a0"
"""Between a number and its unit, so that no line breaks there."""

MINUS = "\u2212"
PLUS_MINUS = "\u00b1"

_NUMBER = r"-?\d+(\.\d+)?(e[+-]\d+)?"
"""As `format` writes it with "g"."""

_POWER = re.compile(r"(?<=\d)e([+-]\d+)")
_RAISED = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


@dataclass(frozen=True, eq=False)
class Words:
    """The templates of one language, and how it writes numbers and lists.

    Attributes:
        language: such as "en", as HTML names it.
        templates: by dotted key.
        nouns: what participants and samples are called, which every template may name.
    """

    language: str
    templates: Mapping[str, str]
    nouns: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key.

        Args:
            key: dotted, such as "verdict.better".
            values: for the names in braces. Braces in a value stay as they are.

        Raises:
            KeyError: there is no such key, or a value is missing.
        """
        return self.templates[key].format_map({**self.nouns, **values})

    def about(self, whom: str) -> Words:
        """The same words, of "hospitals" or of "participants" and what these have.

        Beside each noun stands the one that a sentence begins with, such as "samples_capital".
        """
        nouns = self.under(f"nouns.{whom}")
        capital = {f"{name}_capital": noun[:1].upper() + noun[1:] for name, noun in nouns.items()}
        return replace(self, nouns=nouns | capital)

    def under(self, prefix: str) -> dict[str, str]:
        """The texts of all keys that start so, by what follows, in the order of the file."""
        return {
            key.removeprefix(f"{prefix}."): text
            for key, text in self.templates.items()
            if key.startswith(f"{prefix}.")
        }

    def phrase(self, text: str) -> str:
        """The text of a key that a register holds; a text that is no key, as of a kind of somebody
        else's, stays as it is."""
        return self.templates.get(text, text)

    def translation(self, recorded: str) -> str:
        """A sentence that a record holds in English, in this language; one that is not of these
        files stays as it is."""
        return self.templates.get(_keys_of_english().get(recorded, ""), recorded)

    def either(self, key: str, number: int, **values: object) -> str:
        """The text of `key.one` or `key.many`, with the number as "{number}"."""
        chosen = "one" if number == 1 else "many"
        return self(f"{key}.{chosen}", number=self.count(number), **values)

    def name(self, recorded: str, under: str) -> str:
        """A name that a record holds in English, in this language; any other one stays as it is.

        Args:
            recorded: a text of `under`, where "{number}" is any number: "above 64.5".
            under: what its key starts with, such as "groups".
        """
        for key, english in words_of().under(under).items():
            before, numbered, after = english.partition("{number}")
            if not numbered and recorded == english:
                return self(f"{under}.{key}")
            if numbered and recorded.startswith(before) and recorded.endswith(after):
                number = recorded[len(before) : len(recorded) - len(after)]
                if re.fullmatch(_NUMBER, number):
                    shown = self.figure(number).replace("-", MINUS)
                    return self(f"{under}.{key}", number=shown)
        return recorded

    def listing(self, names: Sequence[str], *, either: bool = False) -> str:
        """Names in a sentence: "a, b and c"; of which one is meant: "a, b or c"."""
        last = f" {self('numbers.or' if either else 'numbers.and')} "
        return last.join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

    def figure(self, text: str) -> str:
        """A number as programs write it, as people of this language do: "1.31" as "1,31", and a
        power of ten as one."""
        marks = {ord("."): self("numbers.decimal"), ord(","): self("numbers.thousands")}
        return _POWER.sub(_raised, text.translate(marks))

    def size(self, size: str) -> str:
        """Bytes as `data_size` writes them, in this language: "1.31 MB" as "1,31 Mo"."""
        number, _, unit = size.rpartition(THIN)
        return f"{self.figure(number)}{THIN}{self(f'numbers.units.{unit}')}"

    def count(self, number: int) -> str:
        """5120 as "5,120"."""
        return self.figure(f"{number:,}")

    def decimal(self, value: float, digits: int = 3, *, sign: bool = False) -> str:
        """A number with so many digits after the comma, with a typographic minus."""
        value = 0.0 if round(value, digits) == 0 else value  # no minus before a zero
        text = f"{value:{'+' if sign else ''},.{digits}f}"
        return self.figure(text).replace("-", MINUS)

    def percent(self, fraction: float, digits: int = 0) -> str:
        """0.732 as "73 %"."""
        return f"{self.decimal(100 * fraction, digits)}{THIN}%"

    def span(self, low: str, high: str) -> str:
        """Two numbers with a dash between them; beside a minus a dash could not be read."""
        negative = MINUS in low or MINUS in high
        return f"{low} {self('estimates.to')} {high}" if negative else f"{low}\u2013{high}"

    def with_error(self, value: float, error: float | None) -> str:
        """A value and its standard error: "0.031 ± 0.010"; 0 and None have none."""
        shown = self.decimal(value, 3)
        if not error:
            return shown
        return f"{shown}{THIN}{PLUS_MINUS}{THIN}{self.decimal(error, 3)}"


def languages() -> tuple[str, ...]:
    """Those that there are, English first."""
    files = resources.files("securefair.words").iterdir()
    found = {one.name.removesuffix(".toml") for one in files if one.name.endswith(".toml")}
    return (ENGLISH, *sorted(found - {ENGLISH}))


@functools.cache
def words_of(language: str = ENGLISH) -> Words:
    """The words of a language.

    Raises:
        ConfigError: there is no such language.
    """
    if language not in languages():
        raise ConfigError(
            "there are no words in this language",
            where="language",
            found=language,
            expected=", ".join(languages()),
        )
    text = resources.files("securefair.words").joinpath(f"{language}.toml").read_text("utf-8")
    return Words(language, dict(_flat(tomllib.loads(text))))


def _raised(power: re.Match[str]) -> str:
    return f"{THIN}\u00d7{THIN}10{str(int(power[1])).translate(_RAISED)}"


@functools.cache
def _keys_of_english() -> dict[str, str]:
    return {text: key for key, text in words_of().templates.items()}


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
