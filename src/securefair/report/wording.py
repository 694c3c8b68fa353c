"""Numbers and nouns as people read them; the same in the terminal and in the HTML report."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.collaboration.kinds import wording_of
from securefair.collaboration.verdict import control_title
from securefair.collaboration.wording import (
    count,
    data_size,
    listing,
    plural,
)
from securefair.words import MINUS, PLUS_MINUS, THIN, Words, words_of

__all__ = [
    "algorithm_name",
    "algorithm_rule",
    "count",
    "data_size",
    "duration",
    "further_line",
    "listing",
    "message_name",
    "percent",
    "plural",
    "points",
    "sensitivity_of",
    "whom",
    "with_spread",
]


def whom(source: str) -> str:
    """Of whom a data set is, as `Words.about` takes it: not all packaged ones have hospitals."""
    return "participants" if source in ("digits", "breast-cancer") else "hospitals"


def algorithm_name(algorithm: str, words: Words | None = None) -> str:
    """`cycle` as "CYCle", a control in the language; a name that is not known stays as it is."""
    return control_title(algorithm, words or words_of())


def algorithm_rule(algorithm: str, words: Words | None = None) -> str:
    """Who answers whom, in a few words; empty for an algorithm that is not known."""
    return (words or words_of()).phrase(wording_of(algorithm).rule)


def message_name(
    message: str,
    algorithm: str,
    words: Words | None = None,
    *,
    summed: bool = False,
    unencrypted: bool = False,
) -> str:
    """A message type of an algorithm in plain words.

    Args:
        message: the type.
        algorithm: the algorithm.
        words: of the language.
        summed: it is called by what it holds where sums are opened.
        unencrypted: nothing in it was encrypted.
    """
    words = words or words_of()
    wording = wording_of(algorithm)
    own = (wording.summed if summed and wording.summed else wording.messages).get(message)
    key = own or f"messages.{message}"
    found = words.templates.get(key, own or message)
    return words.templates.get(f"{key}_open", found) if unencrypted else found


def sensitivity_of(classes: Sequence[str], *, table: bool) -> str:
    """Which of two classes sensitivity is of, as a sentence; empty for more, whose mean it is.

    Args:
        classes: their names, in the order of their numbers.
        table: whether they come from a table, whose rules can name the other one.
    """
    if len(classes) != 2:
        return ""
    other, positive = classes
    return f"Sensitivity is of class {positive}{f'; table.positive can name {other}' * table}."


def further_line(whose: str, columns: Sequence[str]) -> str:
    """Which columns one participant uses that others need not have, as a sentence."""
    which = f"column{'s' * (len(columns) > 1)} {', '.join(columns)}"
    all_of = "them" if columns[1:] else "it"
    return f"The model of {whose} alone also uses {which}: nothing of {all_of} leaves."


def percent(fraction: float, digits: int = 1) -> str:
    """0.732 as "73.2 %"."""
    return f"{fraction * 100:.{digits}f}{THIN}%".replace("-", MINUS)


def points(difference: float) -> str:
    """A difference of two fractions in signed percentage points: 0.022 as "+2.2"."""
    rounded = round(difference * 100, 1)
    sign = "+" if rounded > 0 else MINUS if rounded < 0 else PLUS_MINUS
    return f"{sign}{abs(rounded):.1f}"


def with_spread(value: str, spread: float) -> str:
    """A value and, after several repetitions, its standard deviation: "+2.2 ± 1.1"."""
    return f"{value}{THIN}{PLUS_MINUS}{THIN}{spread * 100:.1f}" if spread else value


def duration(seconds: float) -> str:
    """0.0123 as "12 ms", 75 as "1 min 15 s"."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g}{THIN}ms"
    if seconds < 59.95:
        return f"{seconds:.3g}{THIN}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{THIN}h {minutes}{THIN}min" if hours else f"{minutes}{THIN}min {rest}{THIN}s"
