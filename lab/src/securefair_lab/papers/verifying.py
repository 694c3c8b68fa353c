"""`securefair reproduce --verify`: stored results beside what was computed or run again.

What trains nothing and needs no data is computed anew. Other results are compared with a run of
theirs, where there is one. Without it a stored result is checked against itself: its means and its
verdicts have to follow from its single seeds. `against` says which of the three it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.table import Table

from securefair.errors import ConfigError, DataError
from securefair.report import Screen, read_json, say, say_json
from securefair_lab.papers.catalogue import experiment_named
from securefair_lab.papers.comparison import Comparison, compare, judged, rows_of
from securefair_lab.papers.experiment import Row
from securefair_lab.papers.origin import Origin, origin
from securefair_lab.papers.repeating import STATUSES, Status, repetition, seeds_shown
from securefair_lab.papers.running import compared_rows
from securefair_lab.papers.stored import STORED_AS, stored_names, stored_result
from securefair_lab.papers.verdicts import VERDICTS

OWN_SEEDS = "its own seeds"


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one result.

    Attributes:
        name: of the experiment.
        status: equal: nothing differs. within: numbers differ, means by no more than a standard
            deviation over seeds but for a tenth of them, or what can be told. flipped: a claim is
            judged the other way round, or more means are beyond. missing: nothing is stored, or no
            origin or single seeds, or one side lacks numbers, claims or seeds. "Equal" says that a
            result repeats only where `against` is a run or "computed now"; against "its own seeds"
            the file agrees with itself.
        claims: of the stored result, how many hold, fail and cannot be told.
        origin: what made the stored result, the first where several did; None where that is not
            stored.
        origins: all of them.
        against: what it was compared with: "a run in FOLDER, 3 of 3 seeds", "computed now", "its
            own seeds", "nothing"; where there is nothing to run, "nothing: an illustration".
        stored_as: of a table or a figure whose runs are stored under other names: these names. Then
            status is the worst of theirs, and counts are sums.
        numbers, different, beyond: how many were compared, differ at all, and have means that
            differ by more than a standard deviation over seeds.
        lacking: numbers, claims and seeds that one side alone has.
        flipped: claims that held and fail there, or the other way round.
        moved: claims that can be told on one side only.
        apart: what is not the same on both sides.
    """

    name: str
    status: Status
    claims: dict[str, int]
    origin: Origin | None = None
    origins: list[Origin] = []
    stored_as: list[str] = []
    against: str = "nothing"
    numbers: int = 0
    different: int = 0
    beyond: int = 0
    lacking: list[str] = []
    flipped: list[str] = []
    moved: list[str] = []
    apart: list[str] = []

    @property
    def shown(self) -> str:
        """The status for people: what was compared with itself alone has repeated nothing."""
        return "not run" if self.status == "equal" and OWN_SEEDS in self.against else self.status


def verify(names: Sequence[str], out: Path | None, *, json: bool) -> None:
    """Tell what became of these results, or of all that are stored.

    Args:
        out: a folder of runs, one folder an experiment, as `reproduce all --out` leaves them. None:
            where `reproduce` puts them without --out. Also one run's own folder or its
            comparison.json.

    Raises:
        ConfigError: there is no such experiment or folder.
        DataError: a result cannot be read; the others are told before.
    """
    if out is not None and not out.exists():
        raise ConfigError("there is no such folder", where="--out", found=str(out))
    found, unread = [], []
    asked = names or stored_names()
    for number, name in enumerate(asked, 1):
        if len(asked) > 1:
            say(f"{number} of {len(asked)}: {name}", err=True)
        try:
            found.append(verified(name, out))
        except DataError as error:
            unread.append(error)
    _tell(found, json=json)
    if unread:
        raise unread[0]


def _tell(found: Sequence[Verified], *, json: bool) -> None:
    if json:
        say_json(list(found), indent=2)
        return
    table = Table(box=None, header_style="bold")
    table.add_column(
        "name", no_wrap=True, min_width=max((len(one.name) for one in found), default=0)
    )
    for heading in ("status", *VERDICTS, "numbers", "differ", "beyond", "against"):
        table.add_column(heading, overflow="fold")
    for one in found:
        counts = (*(one.claims[word] for word in VERDICTS), one.numbers, one.different, one.beyond)
        table.add_row(one.name, one.shown, *map(str, counts), one.against)
    Screen().print(table)


def verified(name: str, out: Path | None) -> Verified:
    """One stored result; see `verify`."""
    experiment = experiment_named(name)
    if name in STORED_AS:
        return _together(name, [verified(one, out) for one in STORED_AS[name]])
    if name not in stored_names():
        against = "nothing" if experiment.sizes else "nothing: an illustration"
        claims: dict[str, int] = dict.fromkeys(VERDICTS, 0)
        return Verified(name=name, status="missing", claims=claims, against=against)
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
        origins=stored.origins,
        against=against,
        numbers=found.numbers,
        different=len(found.different),
        beyond=len(found.beyond),
        lacking=list(found.lacking),
        flipped=list(found.flipped),
        moved=list(found.moved),
        apart=list(found.apart),
    )


def _again(stored: Comparison, out: Path | None) -> tuple[str, Comparison]:
    """The best that there is to compare with, and what it is in words."""
    name, beside = stored.experiment, "" if out is None else f"; no run of it in {out}"
    for file in _runs_of(name, out):
        if file.is_file():
            run = read_json(file, Comparison)
            if (run.experiment, run.size) == (name, stored.size):
                return f"a run in {file.parent}, {seeds_shown(stored, run)}", run
            beside = f"; the run in {file.parent} is of {run.experiment}, size {run.size}"
    experiment = experiment_named(name)
    if experiment.measure is not None and not experiment.needs:
        rows = compared_rows(experiment, "cpu", [], seeds=stored.seeds, data=None, papers=None)
        made = [origin(experiment.code("cpu"))]
        return f"computed now{beside}", compare(experiment, "cpu", stored.seeds, rows, made)
    return f"{OWN_SEEDS}{beside}", _follows(stored)


def _runs_of(name: str, out: Path | None) -> list[Path]:
    """Where its comparison.json may lie."""
    if out is not None and out.is_file():
        return [out]
    folders = (
        [Path("runs/all-cpu") / name, Path(f"runs/{name}-cpu")]
        if out is None
        else [out / name, out]
    )
    return [folder / "comparison.json" for folder in folders]


def _together(name: str, parts: Sequence[Verified]) -> Verified:
    """A table or a figure by the stored results that have its runs."""
    return Verified(
        name=name,
        status=max((own.status for own in parts), key=STATUSES.index),
        claims={word: sum(own.claims[word] for own in parts) for word in VERDICTS},
        origin=parts[0].origin,
        origins=[one for own in parts for one in own.origins],
        stored_as=[own.name for own in parts],
        against="; ".join(f"{own.name}: {own.against}" for own in parts),
        numbers=sum(own.numbers for own in parts),
        different=sum(own.different for own in parts),
        beyond=sum(own.beyond for own in parts),
        lacking=[one for own in parts for one in own.lacking],
        flipped=[one for own in parts for one in own.flipped],
        moved=[one for own in parts for one in own.moved],
        apart=list(dict.fromkeys(one for own in parts for one in own.apart)),
    )


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
