"""Sweeps with the clear backend: who answers whom, and how often, does not depend on it."""

from __future__ import annotations

import csv
import io
import json
from itertools import permutations
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from securefair.circuit.planner import plan_exchange
from securefair.collaboration import PublicFacts
from securefair.collaboration.distillation.kind import CYCLE
from securefair.config import RunConfig, override
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.user.participants import load_participants
from securefair.worth import coin
from securefair_lab.profiling.fit import linear_fit
from securefair_lab.profiling.sharing import DECISIONS, enough_rounds, profile_sharing
from securefair_lab.profiling.sharing_files import draw, table, write_sharing
from securefair_lab.profiling.sharing_records import SharingProfile
from securefair_lab.profiling.sharing_table import sharing_table
from securefair_lab.profiling.tasks import reshaped, task_config

pytestmark = pytest.mark.slow  # whole runs

PROBABILITIES = [0.0, 0.25, 0.5, 0.75, 1.0]
ROUNDS, FORCED_EVERY = 10, 5


def small_task(**options: object) -> tuple[RunConfig, list[ParticipantData]]:
    settings = {"participants": 3, "rounds": ROUNDS, "q": 90, "backend": "clear", **options}
    config = task_config(source="breast-cancer", **settings)  # type: ignore[arg-type]
    config = override(config, {"training.local_steps": 1, "training.local_epochs": 5})
    return config, reshaped(load_participants(config, 0), samples=200, features=4, seed=0)


@pytest.fixture(scope="module")
def profile() -> SharingProfile:
    return profile_sharing(*small_task(), PROBABILITIES)


def test_teachers_answer_exactly_by_their_coins(profile: SharingProfile) -> None:
    pairs = list(permutations(["P1", "P2", "P3"], 2))
    forced = [t for t in range(ROUNDS) if t % FORCED_EVERY == 0]
    others = [t for t in range(ROUNDS) if t % FORCED_EVERY]

    for point in profile.points:
        r = point.probability
        heads = sum(r > 0 and coin(0, t, k, n) <= r for t in others for k, n in pairs)
        asked = len(pairs) * (len(forced) + (len(others) if r > 0 else 0))
        assert point.answers == len(pairs) * len(forced) + heads
        assert point.declines == asked - point.answers


def test_bytes_are_linear_in_the_probability(profile: SharingProfile) -> None:
    fit = profile.fit.bytes

    assert fit.r2 > 0.99
    answers = [point.answers for point in profile.points]
    assert linear_fit(answers, [point.bytes for point in profile.points]).r2 > 0.999


@pytest.mark.parametrize("participants", [2, 3, 4, 8, 30])
@pytest.mark.parametrize("forced_every", [2, 5, 7])
def test_enough_rounds_throw_enough_coins(participants: int, forced_every: int) -> None:
    pairs = participants * (participants - 1)

    def coins(rounds: int) -> int:
        return pairs * sum(t % forced_every != 0 for t in range(rounds))

    rounds = enough_rounds(participants, forced_every)
    assert coins(rounds) >= DECISIONS
    assert coins(rounds - 2) < DECISIONS


def test_every_byte_belongs_to_a_message(profile: SharingProfile) -> None:
    for cost in (*profile.points, profile.always):
        assert sum(cost.bytes_by_message.values()) == cost.bytes
        assert cost.problems == 0


def test_probability_one_is_vpdl(profile: SharingProfile) -> None:
    one, always = profile.points[-1], profile.always

    assert (one.answers, one.declines) == (always.answers, always.declines)
    assert one.bytes == always.bytes
    assert one.accuracy == always.accuracy
    assert one.saving_bytes == one.saving_round_bytes == 0


def test_savings_fall_with_the_probability(profile: SharingProfile) -> None:
    savings = [point.saving_bytes for point in profile.points]
    rounds = [point.saving_round_bytes for point in profile.points]

    assert savings == sorted(savings, reverse=True)
    assert all(a > b for a, b in zip(rounds[:-1], savings[:-1], strict=True))


def test_cycle_saves_what_its_declines_do_not_send(profile: SharingProfile) -> None:
    cycle = profile.cycle
    assert 0 < cycle.mean_reputation < 1
    missing = profile.always.answers - cycle.answers
    answer = profile.always.bytes_by_message["answer"] / profile.always.answers
    assert missing > 0
    assert cycle.bytes_by_message["answer"] == pytest.approx(
        profile.always.bytes_by_message["answer"] - missing * answer
    )
    assert cycle.saving_bytes == 1 - cycle.bytes / profile.always.bytes


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_releases_that_tell_no_reputation_are_refused(release: str) -> None:
    with pytest.raises(ConfigError, match="only monitors"):
        small_task(release=release)


@pytest.mark.parametrize(
    "probabilities", [[], [0.5], [0.5, 0.5], [0.2, 0.2, 0.4], [0.0, 1.1], [-0.1, 1.0]]
)
def test_probabilities_are_checked(probabilities: list[float]) -> None:
    with pytest.raises(ConfigError, match="probabilities"):
        profile_sharing(*small_task(), probabilities)


def test_encrypted_rounds_follow_the_same_coins() -> None:
    config, data = small_task(backend="rns", participants=2, rounds=4)
    encrypted = profile_sharing(config, data, [0.5, 1.0])
    clear = profile_sharing(*small_task(participants=2, rounds=4), [0.5, 1.0])

    for real, twin in zip(encrypted.points, clear.points, strict=True):
        assert (real.answers, real.declines) == (twin.answers, twin.declines)
        assert real.problems == 0
    plan = plan_exchange(CYCLE.agree(config, PublicFacts.of(data), seed=0).spec)
    point = encrypted.points[-1]
    assert 0 <= point.bytes_down - point.answers * plan.answer_bytes < 64 * point.answers


def test_files_hold_the_profile(profile: SharingProfile, tmp_path: Path) -> None:
    files = write_sharing(profile, tmp_path)

    assert sorted(path.name for path in files) == [
        f"sharing.{e}" for e in ("csv", "json", "png", "svg")
    ]
    saved = json.loads((tmp_path / "sharing.json").read_text())
    assert msgspec.convert(saved, SharingProfile) == profile
    rows = list(csv.DictReader(io.StringIO(table(profile))))
    assert [float(row["probability"]) for row in rows] == PROBABILITIES
    for row, point in zip(rows, profile.points, strict=True):
        sizes = [
            int(value)
            for key, value in row.items()
            if key.endswith("_bytes") and "saving" not in key
        ]
        assert sum(sizes) == point.bytes
    assert (tmp_path / "sharing.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "sharing.svg").read_text()


def test_the_table_fits_a_terminal(profile: SharingProfile) -> None:
    console = Console(width=80, record=True, file=io.StringIO())

    console.print(sharing_table(profile))

    text = console.export_text()
    assert "…" not in text
    assert "VPDL" in text
    assert f"CYCle, r {profile.cycle.mean_reputation:.2f}" in text


def test_the_picture_hides_no_curve_and_no_star(profile: SharingProfile) -> None:
    figure = draw(profile)
    figure.canvas.draw()
    _, saving, accuracy, *_ = figure.axes
    legend = saving.get_legend()
    assert legend is not None
    assert legend.get_window_extent().y1 <= saving.get_window_extent().y0
    stars = [line for line in saving.lines if line.get_marker() == "*" and len(line.get_xdata())]
    looks = {(one.get_color(), one.get_markerfacecolor(), one.get_markersize()) for one in stars}
    assert len(looks) == len(stars) == 3
    low, high = accuracy.get_ylim()
    assert high - low == pytest.approx(10)
