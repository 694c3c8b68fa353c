"""Which code decides a result: all definitions behind it, as one digest.

It follows names from what computes a result to what that refers to, so that only what may be
reached counts. A helper that is renamed, or moved to another module, is the same helper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import version
from types import FunctionType, MethodType
from typing import Any

from securefair_lab.papers.definitions import Place, definition, is_ours, place_at

LIBRARIES = ("numpy", "scikit-learn", "scipy", "torch")
"""Whose versions may change results."""

RUN = (
    Place("securefair.run.rounds", "ReferenceRun"),
    Place("securefair.run.rounds", "run_rounds"),
)
"""How a contender is run."""

ROWS = (
    Place("securefair_lab.papers.running", "read_runs"),
    Place("securefair_lab.papers.running", "compared_rows"),
)
"""How rows are made of runs: which control a gain is over, means and spreads."""

ALONE = (RUN[1],)
"""Whose own text counts, and not what is behind it: `run_rounds` also keeps models, which no
experiment does."""


@cache
def libraries() -> dict[str, str]:
    """The versions of those that compute; builds for a GPU are named apart by their device."""
    return {name: version(name).partition("+")[0] for name in LIBRARIES}


def code_behind(*things: object, size: str | None = None, besides: Sequence[Place] = ()) -> str:
    """Digest of what these objects are made of, and of everything of ours that it refers to.

    What is written elsewhere, as a user's own algorithm, does not count. Of what the objects hold,
    `values.values_in` tells.

    Args:
        size: of an experiment; see `definitions.definition`.
        besides: where else to begin.
    """
    places = (place for thing in things for place in _places(thing))
    return digest(*dict.fromkeys((*places, *besides)), size=size)


@cache
def digest(*places: Place, size: str | None = None) -> str:
    """Of the definitions at these places with all behind them, and of the libraries."""
    order = reached(*places, size=size)
    number = {place: n for n, place in enumerate(order)}
    found = [definition(place, size) for place in order]
    text = repr([(own.text, [number.get(p) for p in own.needs]) for own in found])
    return blake2b(f"{text}{sorted(libraries().items())}".encode(), digest_size=8).hexdigest()


def reached(*places: Place, size: str | None = None) -> list[Place]:
    """These definitions and all behind them, in the order in which they refer to each other."""
    order = dict.fromkeys(places)
    left = list(places)
    for place in left:
        if place in ALONE:
            continue
        for one in definition(place, size).needs:
            if one not in order:
                order[one] = None
                left.append(one)
    return left


def _places(thing: object, seen: set[int] | None = None) -> Iterator[Place]:
    """Where an object, its class or function, and all that it holds are written."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | type(None)):
        return
    seen.add(id(thing))
    for held in _held(thing):
        yield from _places(held, seen)
    named: Any = thing if isinstance(thing, type | FunctionType) else type(thing)
    if not is_ours(named.__module__):
        return
    top = named.__qualname__.partition(".")[0]
    if top == "<lambda>":
        yield place_at(named.__module__, named.__code__.co_firstlineno)
    else:
        yield Place(named.__module__, top)


def _held(thing: object) -> Iterator[object]:
    if isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, MethodType):
        yield from (thing.__func__, thing.__self__)
    elif isinstance(thing, FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or ())
    elif isinstance(thing, Mapping):
        yield from thing.values()
    elif isinstance(thing, tuple | list | set | frozenset):
        yield from thing
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield from (getattr(thing, own.name) for own in fields(thing))
