"""The kinds of figures in the papers, drawn from runs; colours are safe for the colour-blind."""

from securefair_lab.papers.figures.lines import curves, participant_curves, plane, round_curves
from securefair_lab.papers.figures.maps import (
    link_maps,
    reputation_maps,
    row_map,
    sensitivity,
    sharing_maps,
)
from securefair_lab.papers.figures.participants import (
    correlation_panels,
    level_bars,
    participant_bars,
    participant_radar,
)

__all__ = [
    "correlation_panels",
    "curves",
    "level_bars",
    "link_maps",
    "participant_bars",
    "participant_curves",
    "participant_radar",
    "plane",
    "reputation_maps",
    "round_curves",
    "row_map",
    "sensitivity",
    "sharing_maps",
]
