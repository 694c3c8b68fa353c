"""Words that mean the same in tables of several hospitals: no and yes, male and female."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_NO = frozenset(("0", "no", "n", "nein", "non", "false", "falsch", "negative", "negativ", "-"))
_YES = frozenset(("1", "yes", "y", "ja", "j", "oui", "true", "wahr", "positive", "positiv", "+"))
_MALE = frozenset(("m", "male", "man", "mann", "männlich", "maennlich", "homme", "masculin"))
_FEMALE = frozenset(("f", "w", "female", "woman", "frau", "weiblich", "femme", "féminin"))

_MEANINGS = (("no and yes", _NO, _YES), ("male and female", _MALE, _FEMALE))


def two_meanings(codes: Collection[str]) -> tuple[str, list[str], list[str]] | None:
    """What codes probably mean, with those of either meaning in their order; None: something else.

    Nothing proves it, so that whoever knows the tables must be asked.
    """
    for name, first, second in _MEANINGS:
        one = [text for text in codes if text.strip().casefold() in first]
        other = [text for text in codes if text.strip().casefold() in second]
        if one and other and len(one) + len(other) == len(codes):
            return name, one, other
    return None


def yes_of(groups: Sequence[Sequence[str]]) -> str | None:
    """Of two classes whose codes are words for no and yes a code of yes; None for all others."""
    if len(groups) != 2:
        return None
    for no, yes in (groups, groups[::-1]):
        meant = [{text.strip().casefold() for text in codes} for codes in (no, yes)]
        if meant[0] <= _NO and meant[1] <= _YES:
            return yes[0]
    return None
