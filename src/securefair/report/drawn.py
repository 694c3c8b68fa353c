"""Pictures of outcomes as a page draws them: places in percent of a box, texts, a legend.

What is drawn stands in records (`records.Picture`), and every word in `words`, under `pictures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from securefair.records import Picture, PictureSeries
from securefair.words import MINUS, Words


@dataclass(frozen=True)
class Mark:
    """A text at a place on an axis, and which part of it stands there."""

    x: float
    text: str
    anchor: str


@dataclass(frozen=True)
class Dot:
    """One mark with a whisker, in percent of its box, y downwards."""

    x: float
    y: float
    low: float
    high: float
    label: str


@dataclass(frozen=True)
class DrawnSeries:
    """One series; of `points`, `dots` and `bars` one is not empty.

    Attributes:
        style: class of its colour and dash.
        form: as of `PictureSeries`.
        name: for the legend; empty where the picture has one series.
        points: "x,y x,y ...".
        dots: with whiskers.
        bars: left end, top, width and height.
        counts: patients at each tick; empty where they are not told.
    """

    style: str
    form: str
    name: str
    points: str
    dots: list[Dot]
    bars: list[tuple[float, float, float, float]]
    counts: list[Mark]


@dataclass(frozen=True)
class Drawn:
    """One picture.

    Attributes:
        name: of the picture, for styles and ids.
        title, note, across, up: above it, below it, and of its axes.
        x_marks: of the axis below.
        y_labels: of the axis at the left, the highest first, evenly spaced.
        series: in the order of drawing.
        line: ends of the line where what is predicted is what was seen; None for none.
        said: the same for those who do not see it.
        followed: heading of the rows of counts; empty without.
    """

    name: str
    title: str
    note: str
    across: str
    up: str
    x_marks: list[Mark]
    y_labels: list[str]
    series: list[DrawnSeries]
    line: tuple[float, float, float, float] | None
    said: str
    followed: str


STYLES = ("p0", "p1", "p2")
"""Of series that belong together, such as a curve and what was predicted of it."""


def drawn(pictures: Sequence[Picture], words: Words, **named: str) -> list[Drawn]:
    """All pictures of one page.

    Args:
        pictures: as records have them.
        words: of the language, about these participants.
        named: what the words of every picture may name, such as the label that is predicted.
    """
    return [_drawn(one, words, named) for one in pictures]


@dataclass(frozen=True)
class _Axes:
    low: float
    high: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def y(self, value: float) -> float:
        inside = min(max(value, self.bottom), self.top)
        return round(100 * (self.top - inside) / (self.top - self.bottom), 2)


def _drawn(picture: Picture, words: Words, named: dict[str, str]) -> Drawn:
    half = max((_half_bar(one) for one in picture.series), default=0.0)
    barred = [x for one in picture.series if one.form == "bars" for x in one.x]
    axes = _Axes(
        low=min([picture.x_ticks[0], *(x - half for x in barred)]),
        high=max([picture.x_ticks[-1], *(x + half for x in barred)]),
        bottom=picture.y_ticks[0],
        top=picture.y_ticks[-1],
    )
    values = {name: plain(value, words) for name, value in picture.at.items()} | named
    texts = words.under(f"pictures.{picture.name}")

    def text(key: str) -> str:
        return words(f"pictures.{picture.name}.{key}", **values) if key in texts else ""

    x_texts = [_written(tick, words, share=picture.x_shares) for tick in picture.x_ticks]
    marks = _marks(axes, picture.x_ticks, x_texts)
    curves = [one for one in picture.series if one.patients and one.form in ("steps", "line")]
    return Drawn(
        name=picture.name,
        title=text("title"),
        note=text("note"),
        across=text("across"),
        up=text("up"),
        x_marks=marks,
        y_labels=[
            _written(tick, words, share=picture.y_shares) for tick in reversed(picture.y_ticks)
        ],
        series=_series(picture, axes, marks, words),
        line=_line(axes) if picture.alike else None,
        said=_said(picture, x_texts, words),
        followed=words("pictures.followed") if curves else "",
    )


def _series(
    picture: Picture, axes: _Axes, marks: Sequence[Mark], words: Words
) -> list[DrawnSeries]:
    several, found = len(picture.series) > 1, []
    groups: dict[str, int] = {}
    for one in picture.series:
        # What was seen of a group and what was predicted of it have one colour.
        group = one.name.rpartition("_")[2]
        style = STYLES[groups.setdefault(group, len(groups)) % len(STYLES)]
        curve = one.form in ("steps", "line")
        found.append(
            DrawnSeries(
                style=style,
                form=one.form,
                name=words(f"pictures.series.{one.name}") if several else "",
                points=_points(one, axes) if curve else "",
                dots=_dots(picture, one, axes, words) if one.form == "dots" else [],
                bars=_bars(one, axes) if one.form == "bars" else [],
                counts=[
                    Mark(mark.x, words.count(patients), mark.anchor)
                    for mark, patients in zip(marks, one.patients, strict=True)
                ]
                if curve and one.patients
                else [],
            )
        )
    return found


def _marks(axes: _Axes, ticks: Sequence[float], texts: Sequence[str]) -> list[Mark]:
    def anchor(x: float) -> str:
        return "start" if x <= 0 else "end" if x >= 100 else "middle"

    places = [axes.x(tick) for tick in ticks]
    return [Mark(x, text, anchor(x)) for x, text in zip(places, texts, strict=True)]


def _points(one: PictureSeries, axes: _Axes) -> str:
    pairs = list(zip(one.x, one.y, strict=True))
    if one.form == "steps":
        corners = [(after[0], before[1]) for before, after in pairwise(pairs)]
        pairs = [pairs[0], *(each for two in zip(corners, pairs[1:], strict=True) for each in two)]
    return " ".join(f"{axes.x(x):.2f},{axes.y(y):.2f}" for x, y in pairs)


def _dots(picture: Picture, one: PictureSeries, axes: _Axes, words: Words) -> list[Dot]:
    dots = []
    for at, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
        low, high = (one.low[at], one.high[at]) if one.low else (y, y)
        label = ""
        if one.patients:
            label = words(
                "pictures.dot",
                predicted=_written(x, words, share=picture.x_shares, digits=3),
                seen=_written(y, words, share=picture.y_shares, digits=3),
                number=words.count(one.patients[at]),
            )
        dots.append(Dot(axes.x(x), axes.y(y), axes.y(low), axes.y(high), label))
    return dots


def _bars(one: PictureSeries, axes: _Axes) -> list[tuple[float, float, float, float]]:
    half = _half_bar(one)
    return [
        (
            axes.x(x - half),
            axes.y(y),
            round(axes.x(x + half) - axes.x(x - half), 2),
            round(100 - axes.y(y), 2),
        )
        for x, y in zip(one.x, one.y, strict=True)
    ]


def _half_bar(one: PictureSeries) -> float:
    if one.form != "bars" or len(one.x) < 2:
        return 0.0
    return (one.x[1] - one.x[0]) / 2


def _line(axes: _Axes) -> tuple[float, float, float, float]:
    low, high = max(axes.low, axes.bottom), min(axes.high, axes.top)
    return axes.x(low), axes.y(low), axes.x(high), axes.y(high)


def _said(picture: Picture, x_texts: Sequence[str], words: Words) -> str:
    """Of curves what they are at each tick, of dots each."""
    sentences = []
    for one in picture.series:
        if one.form == "dots" and one.patients:
            continue  # every dot says so itself
        at = [_nearest(one, tick) for tick in picture.x_ticks] if one.x else []
        values = [
            f"{x}: {_written(one.y[place], words, share=picture.y_shares, digits=3)}"
            for x, place in zip(x_texts, at, strict=False)
            if place is not None
        ]
        name = words(f"pictures.series.{one.name}")
        sentences.append(f"{name}: {'; '.join(values)}.")
    return " ".join(sentences)


def _nearest(one: PictureSeries, tick: float) -> int | None:
    """The last point at or before a tick, or the first one; None beyond the end of a series."""
    if tick > one.x[-1] + (one.x[-1] - one.x[0]) / max(1, len(one.x) - 1):
        return None
    return max((at for at, x in enumerate(one.x) if x <= tick + 1e-9), default=0)


def _written(value: float, words: Words, *, share: bool, digits: int = 6) -> str:
    return words.percent(value) if share else plain(value, words, digits)


def plain(value: float, words: Words, digits: int = 6) -> str:
    """A number with so many digits that mean something: 12.5 and 2,960, in the language."""
    text = f"{value:.{digits}g}"
    if "e+" in text:  # whose zeros people read better than a power of ten
        text = f"{float(text):,.0f}"
    elif abs(value) >= 1000:
        text = f"{float(text):,.{digits}g}"
    return words.figure(text).replace("-", MINUS)
