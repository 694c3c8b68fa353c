"""What an experiment is: contenders in settings, and the rows of a table that they fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from securefair.records import RoundRecord
from securefair.worth import Algorithm
from securefair_lab.papers.code import ROWS, RUN, code_behind
from securefair_lab.papers.values import values_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size = Literal["smoke", "cpu", "paper"]
Paper = Literal["cycle", "dpfl", "cffl", "fairsl"]
Fields = Mapping[str, str | int | float | bool | None]
"""What selects a row of the paper's table: dataset, split, n, method, ..."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Contender:
    """One method in one setting: everything that a run needs besides a seed.

    Args:
        fields: of the paper's row that this contender is compared with.
        members: who takes part, from a seed. Contenders of one setting must give equal data for
            equal seeds, or gains would compare apples with pears.
        algorithm: what they do.
        rounds: how many of them.
        control: whether the gains of its setting are over this one; it fills no row of its own
            unless the paper has one.
        apart: what else separates its setting from others of the same data, such as the network.
        compared: fields of the paper's row, where they are not `fields`: a substitute for data that
            are not to be had is named as what it is.
    """

    fields: Fields
    members: Callable[[int], Any]
    algorithm: Algorithm[Any, Any]
    rounds: int
    control: bool = False
    apart: str = ""
    compared: Fields | None = None

    @property
    def setting(self) -> tuple[object, ...]:
        """What all contenders that are compared with each other have in common."""
        return (*(self.fields.get(key) for key in ("dataset", "split", "n")), self.apart)

    @property
    def printed_as(self) -> Fields:
        """The fields of the paper's row."""
        return self.fields if self.compared is None else self.compared

    @property
    def key(self) -> str:
        """Stands for what decides a run besides the seed, its code and libraries among it.

        It does not tell where the data lie: the same files may be in another folder.
        """
        decides = (self.members, getattr(self.members, "scale", None), self.algorithm, self.rounds)
        text = f"{self.code} {values_in(decides, self._size)}"
        return blake2b(text.encode(), digest_size=6).hexdigest()

    @property
    def code(self) -> str:
        """Digest of the code that decides a run."""
        return code_behind(self.members, self.algorithm, size=self._size, besides=RUN)

    @property
    def _size(self) -> str | None:
        """Of the experiment; None where its members do not say."""
        found: str | None = getattr(self.members, "size", None)
        return found

    @property
    def label(self) -> str:
        """The fields as a name of files: no two contenders of an experiment share it."""
        words = "-".join(
            f"{key}-{value}" if isinstance(value, bool | int | float) else str(value)
            for key, value in self.fields.items()
            if value is not None
        )
        return "".join(c if c.isalnum() or c in ".-" else "_" for c in words)


@dataclass(frozen=True, eq=False)
class Finished:
    """A contender's rounds for one seed, and those of its setting's control."""

    contender: Contender
    seed: int
    records: Sequence[RoundRecord]
    control: Sequence[RoundRecord]


Metrics = Callable[[Finished], Mapping[str, float]]
"""A run's figures, in the paper's units and under the paper's names."""


Contenders = Callable[[Size, Path | None], Sequence[Contender]]
"""For a size and the data folder (None for "smoke")."""


@dataclass(frozen=True)
class Parts:
    """What is true of a claim's settings, one by one; it is true of all, or of all but so many.

    Of rows that are not there nothing is shown: without more parts than may be left out, no claim
    is true.
    """

    each: Sequence[bool]
    but: int = 0

    def __bool__(self) -> bool:
        return len(self.each) > self.but and self.each.count(False) <= self.but


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What must come out the same way round, whatever the size.

    Args:
        words: in one sentence.
        parts: what it says of each setting, of the rows: of means over seeds, or of each seed where
            the words say so. Values never decide which parts there are, and in which order.
    """

    words: str
    parts: Callable[[Sequence[Row]], Parts]

    def holds(self, rows: Sequence[Row]) -> bool:
        """Whether it is true of these rows, without a margin."""
        return bool(self.parts(rows))


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the comparison: means over seeds, spreads with ddof 1, the paper's number.

    Args:
        paper: empty where the paper's tables are not at hand, or have no such row.
        each: every seed's number, in the order of seeds; empty where they have not been kept.
    """

    fields: Fields
    metrics: Mapping[str, float]
    spread: Mapping[str, float]
    paper: Mapping[str, float]
    each: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, fields: Fields, each: Mapping[str, Sequence[float]], paper: Mapping[str, float]
    ) -> Row:
        """The row of these seeds."""
        return cls(
            fields=fields,
            metrics={name: float(np.mean(own)) for name, own in each.items()},
            spread={
                name: float(np.std(own, ddof=1)) if len(own) > 1 else 0.0
                for name, own in each.items()
            },
            paper=paper,
            each=each,
        )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one seed gives in one row, where nothing is trained in rounds."""

    fields: Fields
    metrics: Mapping[str, float]


Measure = Callable[[Size, Path | None, int], Sequence[Measured]]
"""(size, data folder, seed) -> all rows; the same fields in the same order for every seed."""

Draw = Callable[[Sequence[Finished], Sequence[Row]], "Figure"]
"""The paper's figure, of our runs of all contenders and seeds and of the means."""


def no_contenders(_size: Size, _data: Path | None) -> tuple[()]:
    """Of an experiment that trains nothing in rounds."""
    return ()


def no_metrics(_run: object) -> dict[str, float]:
    """Of an experiment without contenders."""
    return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """A table or a figure of a paper.

    Args:
        name: on the command line.
        paper: "cycle", "dpfl", "cffl" or "fairsl".
        item: as the paper calls it.
        shows: one line.
        needs: data sets of the size "cpu", as files of the data folder; "smoke" runs on data that
            comes with the package, and says so.
        paper_needs: of the size "paper", where they are others.
        unit: of all metrics.
        reference: the table's name in the paper's JSON, if its numbers are printed.
        contenders: for a size and the data folder (None for "smoke").
        metrics: of a run.
        claims: checked on the means over seeds.
        measure: instead of contenders, for what takes no rounds: simulations, divisions of data.
        draw: the figure; None for bars of ours beside the paper's alone.
        differs: from the paper, at every size; one or two sentences.
        sizes: available ones; none for an illustration, in which there is nothing to measure.
    """

    name: str
    paper: Paper
    item: str
    shows: str
    needs: tuple[str, ...]
    unit: str
    reference: str | None
    contenders: Contenders = no_contenders
    metrics: Metrics = no_metrics
    claims: tuple[Claim, ...] = ()
    measure: Measure | None = None
    draw: Draw | None = None
    differs: str = ""
    sizes: tuple[Size, ...] = ("smoke", "cpu", "paper")
    paper_needs: tuple[str, ...] | None = None

    def files(self, size: Size) -> tuple[str, ...]:
        """Of the data folder that this size needs."""
        if size == "smoke":
            return ()
        return self.needs if size == "cpu" or self.paper_needs is None else self.paper_needs

    def code(self, size: Size) -> str:
        """Digest of all that decides its numbers at this size: code, settings and libraries.

        Data do not count, nor do the paper's own numbers, claims and figures.
        """
        things = (self.metrics, self.measure)
        contenders = sorted(
            f"{values_in([own.fields, own.compared, own.apart, own.control])} {own.key}"
            for own in self.contenders(size, None)
        )
        code = code_behind(*things, size=size, besides=ROWS)
        text = f"{code} {values_in(things, size)} {contenders}"
        return blake2b(text.encode(), digest_size=8).hexdigest()


def illustration(paper: Paper, item: str, shows: str) -> Experiment:
    """An item of a paper that prints no results: it has a name, and nothing to run."""
    return Experiment(
        name=f"{paper}-{item.lower().replace(' ', '')}",
        paper=paper,
        item=item,
        shows=shows,
        needs=(),
        unit="",
        reference=None,
        sizes=(),
    )
