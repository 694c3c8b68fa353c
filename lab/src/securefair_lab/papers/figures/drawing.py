"""What all figures have in common: colours, an empty page, names, and runs in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from securefair.records import RoundRecord
from securefair_lab.papers.experiment import Fields, Finished

Values = NDArray[np.float64]
# Okabe and Ito's colours, in an order that also differs in lightness, with marks of their own.
COLOURS = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#D55E00",
    "#0072B2",
    "#CC79A7",
    "#F0E442",
    "#999999",
)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")  # another number than of colours
MAP = "cividis"


def canvas(width: float, height: float) -> Figure:
    """An empty figure of so many inches that needs no display."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def setting_name(fields: Fields) -> str:
    """Of a panel: the data and who holds what."""
    named = [f"{fields['dataset']}, {fields['split']}", f"N = {fields['n']}"]
    return ", ".join(named)


def method_name(fields: Fields) -> str:
    """In a legend: the method and what else tells it from others of the panel."""
    rest = without(fields, "dataset", "split", "n", "model", "family", "method", "flippers")
    return f"{fields['method']}, {rest}" if rest else str(fields["method"])


def panels_of(
    finished: Sequence[Finished],
) -> dict[tuple[object, ...], dict[str, list[Finished]]]:
    """Runs by setting and method, seeds together."""
    result: dict[tuple[object, ...], dict[str, list[Finished]]] = {}
    for run in finished:
        panel = result.setdefault(run.contender.setting, {})
        panel.setdefault(method_name(run.contender.fields), []).append(run)
    return result


def mean_of(runs: Sequence[Finished], of: Callable[[RoundRecord], object], at: int = -1) -> Values:
    """Of one round of all seeds."""
    stacked = np.array([of(run.records[at]) for run in runs], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        mean: Values = stacked.mean(axis=0)
    return mean


def seeds_together(finished: Sequence[Finished]) -> dict[str, list[Finished]]:
    """Runs by method, with the setting in the name where there are several."""
    result: dict[str, list[Finished]] = {}
    several = len({run.contender.setting for run in finished}) > 1
    for run in finished:
        fields = run.contender.fields
        name = method_name(fields)
        result.setdefault(f"{setting_name(fields)}: {name}" if several else name, []).append(run)
    return result


def without(fields: Fields, *left_out: str) -> str:
    """All fields but some, in words."""
    return ", ".join(
        f"{key} {value}" if isinstance(value, int | float) else str(value)
        for key, value in fields.items()
        if key not in left_out and value is not None
    )


def column(figure: Figure, count: int) -> Sequence[Axes]:
    """So many panels, one below the other."""
    axes: Sequence[Axes] = figure.subplots(count, 1, squeeze=False)[:, 0].tolist()
    return axes
