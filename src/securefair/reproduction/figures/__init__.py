"""The kinds of figures in the papers, drawn from runs; colours are safe for the colour-blind."""

from securefair.reproduction.figures.drawing import (
    COLOURS,
    canvas,
    method_name,
    setting_name,
)
from securefair.reproduction.figures.lines import curves, plane, round_curves
from securefair.reproduction.figures.maps import (
    link_maps,
    reputation_maps,
    row_map,
    sensitivity,
    sharing_maps,
)
from securefair.reproduction.figures.participants import (
    correlation_panels,
    participant_bars,
    participant_radar,
)

__all__ = [
    "COLOURS",
    "canvas",
    "correlation_panels",
    "curves",
    "link_maps",
    "method_name",
    "participant_bars",
    "participant_radar",
    "plane",
    "reputation_maps",
    "round_curves",
    "row_map",
    "sensitivity",
    "setting_name",
    "sharing_maps",
]
