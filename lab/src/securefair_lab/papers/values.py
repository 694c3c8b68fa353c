"""What an object holds, as text: numbers and words, without names of ours and of other sizes.

Together with the code behind it (`code`) this decides what the object computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType

from securefair_lab.papers.definitions import is_of_another


def values_in(thing: object, size: str | None = None) -> str:
    """Everything that is set in an object, field by field, as text.

    Functions tell what they hold: the arguments of a partial, variables of the function around
    them. Folders do not count: the same files may be in another.

    Args:
        size: of an experiment: what a mapping has for another size is left out.
    """
    return "".join(_told(thing, size, ()))


def _told(thing: object, size: str | None, above: tuple[int, ...]) -> Iterator[str]:
    if isinstance(thing, Path) or id(thing) in above:
        return
    above = (*above, id(thing))
    if is_dataclass(thing) and not isinstance(thing, type):
        held: object = {own.name: getattr(thing, own.name) for own in fields(thing)}
    elif isinstance(thing, partial):
        held = (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, MethodType):
        held = (thing.__func__, thing.__self__)
    elif isinstance(thing, FunctionType):
        held = [cell.cell_contents for cell in thing.__closure__ or ()]
    else:
        held = thing
    if isinstance(held, Mapping):
        yield "{"
        for key, value in held.items():
            if not is_of_another(key, size):
                yield f"{key!r}:"
                yield from _told(value, size, above)
        yield "}"
    elif isinstance(held, Set):
        yield f"{sorted(map(repr, held))}"
    elif isinstance(held, list | tuple):
        yield "["
        for one in held:
            yield from _told(one, size, above)
        yield "]"
    elif not isinstance(held, type):
        yield f"{held!r},"
