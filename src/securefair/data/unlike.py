"""What participants wrote so differently that no common rule fits it."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.config.columns import code
from securefair.data.class_names import refuse_two_numberings
from securefair.data.meanings import two_meanings
from securefair.data.proposal import ColumnProposal, number
from securefair.errors import DataError


def check_shared(parts: Sequence[ColumnProposal], sites: Sequence[str], *, joined: bool) -> None:
    """Refuse a participant whose classes nobody else has: they are coded in another way.

    Args:
        parts: what each says of the label.
        sites: their names.
        joined: whether spellings that differ in case only are one code.

    Raises:
        DataError: there is one; names it, its classes and the others'. Or some number two classes
            0 and 1, others 1 and 2.
    """
    codes = [{code(level, joined=joined) for level in part.levels} for part in parts]
    refuse_two_numberings([one for one in codes if one], f"column {parts[0].name}")
    for at, (site, own) in enumerate(zip(sites, codes, strict=True)):
        others: set[str] = set().union(*codes[:at], *codes[at + 1 :])
        if own and others and not own & others:
            raise DataError(
                "no other participant has a class in common with this one",
                where=f"participant {site}, column {parts[at].name}",
                found=", ".join(parts[at].levels[:5]),
                expected=", ".join(sorted(others)[:5]),
                hint=_asked(codes)
                or "Code the classes alike, or say in table.classes which codes make a class",
            )


def mixed(parts: Sequence[ColumnProposal], sites: Sequence[str]) -> str | None:
    """Why a column is neither numbers nor levels, if some wrote numbers and others texts."""
    named = list(zip(sites, parts, strict=True))
    numbers = [site for site, one in named if one.low is not None]
    for site, one in named:
        texts = [level for level in one.levels if one.low is None and number(level) is None]
        if numbers and texts:
            found = f'numbers at {", ".join(numbers)}, but "{texts[0]}"'
            if len(texts) > 1 or one.rare:
                return f"{found} and other texts at {site}"
            return (
                f"{found} at {site}; if that is a code of a missing value, say so in table.missing "
                "(--missing of securefair new)"
            )
    return None


def _asked(codes: Sequence[set[str]]) -> str | None:
    """Whether these are two meanings in several ways, as a question; None: they are other codes."""
    found = two_meanings(sorted(set[str]().union(*codes)))
    if found is None:
        return None
    meaning, *groups = found
    given = " ".join(f"--class {','.join(group)}" for group in groups)
    return f"Do these mean {meaning}? Then say so: {given} (table.classes)"
