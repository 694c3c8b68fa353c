"""A small grid: bytes and bookkeeping are exact, times are only there."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.cli import app
from securefair.profiling.cost_model import QUANTITIES
from securefair_lab.profiling.scale import ScaleProfile, profile_scale
from securefair_lab.profiling.scale_table import scale_table

pytestmark = pytest.mark.slow  # whole runs

SPEC = ExchangeSpec(features=1, samples=2, hidden=2, classes=2, q=8)


@pytest.fixture(scope="module")
def profile() -> ScaleProfile:
    return profile_scale(
        SPEC,
        samples=(20, 40),
        features=(2, 4),
        held_out=(30, 3),
        participants=(2, 3),
        backend="clear",
        repeats=1,
    )


def test_points_are_the_grid(profile: ScaleProfile) -> None:
    sizes = [(point.samples, point.features) for point in profile.points]

    assert sizes == [(20, 2), (20, 4), (40, 2), (40, 4)]
    assert (profile.held_out.samples, profile.held_out.features) == (30, 3)
    for point in (*profile.points, profile.held_out):
        assert point.measured.keys() == point.predicted.keys() == QUANTITIES.keys()
        without = [name for name, value in point.measured.items() if not value]
        assert without == ["query_seconds"]  # a projection sends no predictions
        for name, error in point.errors.items():
            assert point.predicted[name] == pytest.approx((1 + error) * point.measured[name])
        plan = plan_exchange(
            ExchangeSpec(features=point.features, samples=point.samples, hidden=2, classes=2, q=8)
        )
        assert point.bytes == plan.key_bytes + plan.feature_bytes + plan.answer_bytes


def test_collaborations_grow_by_a_peer_each(profile: ScaleProfile) -> None:
    two, three = profile.participants

    assert three.bytes == 2 * two.bytes  # a hospital's own, from one peer to two
    assert (two.estimate.answers, three.estimate.answers) == (3, 6)


def test_the_table_fits_a_terminal(profile: ScaleProfile) -> None:
    console = Console(width=80, record=True, file=io.StringIO())

    console.print(scale_table(profile))

    text = console.export_text()
    assert "…" not in text
    assert "Held out" in text


def test_plan_estimates_a_collaboration_with_the_model(tmp_path: Path) -> None:
    model = tmp_path / "cost.json"
    shape = ["--hidden", "2", "--classes", "2", "--q", "8"]
    grid = ["--samples", "20,40", "--features", "2,4", "--held-out", "30,3", "--participants", "2"]
    few = ["--backend", "clear", "--repeats", "1", "--out", str(model), "--json"]
    measured = CliRunner().invoke(app, ["profile", "scale", *shape, *grid, *few])
    assert measured.exit_code == 0, measured.output

    size = ["--samples", "50", "--features", "5", "--model", str(model)]
    many = ["--participants", "10", "--rounds", "20", "--sharing", "0.5"]
    planned = CliRunner().invoke(app, ["plan", *shape, *size, *many, "--json"])

    assert planned.exit_code == 0, planned.output
    estimate = json.loads(planned.stdout)["estimate"]
    assert estimate["answers"] == 9 * (4 + 0.5 * 16)
    assert estimate["teacher_hours"] > 0
    assert estimate["peak_gigabytes"] > 0
    shown = CliRunner().invoke(app, ["plan", *shape, *size, *many])
    assert "A hospital's cost: 10 participants" in shown.output
    assert "Extrapolated: measured were 20 to 40 samples of 2 to 4 features" in shown.output
    inside = ["--samples", "30", "--features", "4", "--model", str(model)]
    shown = CliRunner().invoke(app, ["plan", *shape, *inside, *many])
    assert "Extrapolated" not in shown.output
