"""`securefair reproduce --verify`: stored results beside what was computed or run again.

What trains nothing and needs no data is computed anew. Other results are compared with a run of
theirs, where there is one. Without it a stored result is checked against itself: its means and its
verdicts have to follow from its single seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.table import Table

from securefair.report import Screen, read_json, say_json
from securefair_lab.papers.catalogue import experiment_named
from securefair_lab.papers.comparison import Comparison, compare, judged, rows_of
from securefair_lab.papers.experiment import Row
from securefair_lab.papers.origin import Origin, origin
from securefair_lab.papers.repeating import Status, repetition
from securefair_lab.papers.running import compared_rows
from securefair_lab.papers.stored import stored_names, stored_result
from securefair_lab.papers.verdicts import VERDICTS


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one result.

    Attributes:
        name: of the experiment.
        status: equal: nothing differs. within: numbers differ, or what can be told, and no claim is
            judged the other way round. flipped: one is. missing: nothing is stored, or no origin or
            single seeds. "Equal" says that a result repeats only where `against` is a run or
            "computed now"; against "its own seeds" it says that the file agrees with itself.
        claims: of the stored result, how many hold, fail and cannot be told.
        origin: what made the stored result; None where that is not stored.
        against: what it was compared with.
        numbers, different, beyond: how many were compared, differ at all, and have means that
            differ by more than a standard deviation over seeds.
        flipped: claims that held and fail there, or the other way round.
        moved: claims that can be told on one side only.
        apart: what is not the same on both sides.
    """

    name: str
    status: Status
    claims: dict[str, int]
    origin: Origin | None = None
    against: str = "nothing"
    numbers: int = 0
    different: int = 0
    beyond: int = 0
    flipped: list[str] = []
    moved: list[str] = []
    apart: list[str] = []


def verify(names: Sequence[str], out: Path | None, *, json: bool) -> None:
    """Tell what became of these results, or of all that are stored.

    Args:
        out: a folder of runs, one folder an experiment, as `reproduce all --out` leaves them. None:
            where `reproduce` puts them without --out.

    Raises:
        ConfigError: there is no such experiment.
        DataError: a result cannot be read.
    """
    found = [verified(name, out) for name in names or stored_names()]
    if json:
        say_json(found, indent=2)
        return
    table = Table(box=None, header_style="bold")
    for heading in ("name", "status", *VERDICTS, "numbers", "differ", "beyond", "against"):
        table.add_column(heading)
    for one in found:
        counts = (*(one.claims[word] for word in VERDICTS), one.numbers, one.different, one.beyond)
        table.add_row(one.name, one.status, *map(str, counts), one.against)
    Screen().print(table)


def verified(name: str, out: Path | None) -> Verified:
    """One stored result; see `verify`."""
    experiment_named(name)
    if name not in stored_names():
        return Verified(name=name, status="missing", claims=dict.fromkeys(VERDICTS, 0))
    stored = stored_result(name)
    against, again = _again(stored, out)
    found = repetition(stored, again)
    count = Counter(own.verdict for own in stored.claims)
    whole = bool(stored.origins) and all(number.each for number in stored.numbers)
    return Verified(
        name=name,
        status=found.status if whole else "missing",
        claims={word: count[word] for word in VERDICTS},
        origin=stored.origins[0] if stored.origins else None,
        against=against,
        numbers=found.numbers,
        different=len(found.different),
        beyond=len(found.beyond),
        flipped=list(found.flipped),
        moved=list(found.moved),
        apart=list(found.apart),
    )


def _again(stored: Comparison, out: Path | None) -> tuple[str, Comparison]:
    """The best that there is to compare with, and what it is in words."""
    name, beside = stored.experiment, ""
    for folder in (
        (Path("runs/all-cpu") / name, Path(f"runs/{name}-cpu")) if out is None else (out / name,)
    ):
        if (folder / "comparison.json").exists():
            run = read_json(folder / "comparison.json", Comparison)
            if (run.experiment, run.size) == (name, stored.size):
                return f"a run in {folder}", run
            beside = f"; the run in {folder} is of {run.experiment}, size {run.size}"
    experiment = experiment_named(name)
    if experiment.measure is not None and not experiment.needs:
        rows = compared_rows(experiment, "cpu", [], seeds=stored.seeds, data=None, papers=None)
        made = [origin(experiment.code("cpu"))]
        return f"computed now{beside}", compare(experiment, "cpu", stored.seeds, rows, made)
    return f"its own seeds{beside}", _follows(stored)


def _follows(stored: Comparison) -> Comparison:
    """The same with means, spreads and verdicts as they follow from its single seeds."""
    rows = [Row.of(row.fields, row.each, row.paper) if row.each else row for row in rows_of(stored)]
    found = {
        (*row.fields.items(), name): (mean, row.spread[name])
        for row in rows
        for name, mean in row.metrics.items()
    }
    numbers = [
        msgspec.structs.replace(one, ours=mean, spread=spread)
        for one in stored.numbers
        for mean, spread in (found[*one.fields.items(), one.metric],)
    ]
    words = [own.claim for own in stored.claims]
    claims = judged(experiment_named(stored.experiment), rows, words)
    return msgspec.structs.replace(stored, numbers=numbers, claims=claims)
