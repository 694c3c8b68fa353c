"""How far a run has come: a live display on a terminal or in a notebook, plain lines in a log."""

from __future__ import annotations

import html
import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichBar
from rich.text import Text

from securefair.records import ACCURACY, RoundRecord
from securefair.report.privacy import spent_so_far
from securefair.report.wording import algorithm_name, duration, percent, plural
from securefair.words import words_of

_PLAIN_LINES = 4  # lines a log gets per algorithm and repetition
_BAR_WIDTH = 16  # leaves room for the rest of the line on 80 columns


class PartProgress(Protocol):
    """What one algorithm of one repetition tells; called from one thread."""

    def advance(self, record: RoundRecord) -> None:
        """One of its rounds is over."""

    def finish(self) -> None:
        """The algorithm is done."""


class Progress(Protocol):
    """What a run tells while it goes on; called from one thread."""

    def start(
        self,
        algorithm: str,
        rounds: int,
        seed: int | None = None,
        *,
        done: int = 0,
        small: bool = False,
    ) -> PartProgress:
        """An algorithm begins, with this many rounds; others may have begun and not be done.

        Args:
            algorithm: its name.
            rounds: from its first to its last.
            seed: tells repetitions apart; None where there is one.
            done: rounds that an earlier process finished. They are not told again.
            small: whether it is the run once more, for small participants.
        """
        ...


@contextmanager
def show_progress(console: Console) -> Iterator[Progress]:
    """A display that suits the console, cleared up however the run ends.

    A terminal gets one live line per algorithm, a notebook one bar, anything else (a file, a pipe,
    CI) a few plain lines, so that logs stay readable.
    """
    if console.is_jupyter and not console.quiet:
        yield NotebookProgress()
        return
    if not console.is_terminal:
        yield PlainProgress(console)
        return
    bar = RichBar(
        TextColumn("{task.description}", markup=False),
        BarColumn(_BAR_WIDTH),
        MofNCompleteColumn(),
        TextColumn("{task.fields[reached]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    with bar:
        yield LiveProgress(bar)


class _Labelled(ABC):
    """Progress that says of every part which it is."""

    def start(
        self,
        algorithm: str,
        rounds: int,
        seed: int | None = None,
        *,
        done: int = 0,
        small: bool = False,
    ) -> PartProgress:
        """See `Progress`."""
        return self._show(_label(algorithm, seed, small=small), rounds, done)

    @abstractmethod
    def _show(self, label: str, rounds: int, done: int) -> PartProgress:
        """A part with this label begins, with so many rounds done of all."""


class LiveProgress(_Labelled):
    """Progress as bars of a rich display that somebody else starts and stops."""

    def __init__(self, bar: RichBar) -> None:
        self._bar = bar

    def _show(self, label: str, rounds: int, done: int) -> PartProgress:
        return _LivePart(
            self._bar, self._bar.add_task(label, total=rounds, completed=done, reached="")
        )


@dataclass(frozen=True)
class _LivePart:
    bar: RichBar
    task: TaskID

    def advance(self, record: RoundRecord) -> None:
        """Move the bar by one round."""
        self.bar.update(self.task, advance=1, reached=_reached(record))

    def finish(self) -> None:
        """Leave the bar as it stands."""
        self.bar.stop_task(self.task)


class NotebookProgress(_Labelled):
    """Progress as a bar below a notebook's cell, one for each algorithm.

    A notebook always has IPython, which alone changes what stands there; rich would need widgets.
    """

    def _show(self, label: str, rounds: int, done: int) -> PartProgress:
        display = importlib.import_module("IPython.display").display
        bar = _Bar(label, done, rounds)
        return _NotebookPart(bar, display(bar, display_id=True))


@dataclass
class _NotebookPart:
    bar: _Bar
    shown: Any

    def advance(self, record: RoundRecord) -> None:
        """Move the bar by one round."""
        self.bar = replace(self.bar, done=self.bar.done + 1)
        if self.shown is not None:
            self.shown.update(replace(self.bar, text=f"{self.bar.text}: {_reached(record)}"))

    def finish(self) -> None:
        """Leave the bar as it stands."""


@dataclass(frozen=True)
class _Bar:
    """A line and a bar, as a notebook shows them."""

    text: str
    done: int
    rounds: int

    def __repr__(self) -> str:
        return f"{self.text}, {self.done} of {self.rounds}"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.done}" max="{max(self.rounds, 1)}"></progress>'
        return f"{bar} {self.done}/{self.rounds} {html.escape(self.text)}"


class Silence:
    """Progress that nobody watches."""

    def start(self, *_: object, **__: object) -> PartProgress:
        """Nothing."""
        return self

    def advance(self, record: RoundRecord) -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


class PlainProgress(_Labelled):
    """Progress as lines of text.

    Args:
        console: where to.
        clock: seconds that only go forward, for the time that is left.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock

    def _show(self, label: str, rounds: int, done: int) -> PartProgress:
        part = _PlainPart(self._console, self._clock, label, rounds, done)
        earlier = f", {done} of them done before" if done else ""
        part.say(plural(rounds, "round") + earlier)
        return part


class _PlainPart:
    def __init__(
        self, console: Console, clock: Callable[[], float], label: str, rounds: int, done: int
    ) -> None:
        self._console, self._clock, self._label = console, clock, label
        self._rounds, self._done = rounds, done
        self._before = done  # rounds that an earlier process did
        self._first = 0.0  # when the first round of this process was over: training came before

    def advance(self, record: RoundRecord) -> None:
        """Say so when another part of the rounds is over."""
        self._done += 1
        left = self._left()
        lines_before = (self._done - 1) * _PLAIN_LINES // max(self._rounds, 1)
        if self._done * _PLAIN_LINES // max(self._rounds, 1) > lines_before:
            self.say(f"round {self._done} of {self._rounds}, {_reached(record)}{left}")

    def finish(self) -> None:
        """Nothing: the last round was told."""

    def _left(self) -> str:
        """The time that the other rounds take if they are like those so far."""
        here = self._done - self._before  # rounds in this process
        if here == 1:
            self._first = self._clock()
        if here < 2 or self._done >= self._rounds:
            return ""
        each = (self._clock() - self._first) / (here - 1)
        left = max(round(each * (self._rounds - self._done)), 1)
        return f", about {duration(left)} left"

    def say(self, text: str) -> None:
        """A line that says what it is about."""
        self._console.print(Text(f"{self._label}: {text}"), soft_wrap=True)


def _label(algorithm: str, seed: int | None, *, small: bool) -> str:
    """What is computed: several parts may go on at once, of both runs and of several seeds."""
    which = ["small hospitals"] if small else []
    if seed is not None:
        which.append(f"seed {seed}")
    name = algorithm_name(algorithm)
    return f"{name} ({', '.join(which)})" if which else name


def _reached(record: RoundRecord) -> str:
    """The mean of the headline score, by its name, and what was spent of a budget."""
    mean = sum(record.accuracy) / len(record.accuracy)
    words = words_of()
    name = words.templates.get(f"scores.{record.headline}", record.headline)
    told = percent(mean) if record.headline == ACCURACY else words.decimal(mean)
    return f"{name} {told}{spent_so_far(record)}"
