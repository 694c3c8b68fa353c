"""Whole transfers of few hospitals, and a larger one that they foretell."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from securefair.cli import app
from securefair.collaboration.resolved import ResolvedRun
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.config import demo_config, override
from securefair.errors import ConfigError
from securefair.profiling.forecast import check_config
from securefair.profiling.transfer_prices import TransferProfile, foretold, measuring
from securefair_lab.profiling.scale_table import transfer_table
from securefair_lab.profiling.scale_transfer import profile_transfer
from support.agreements import agree


def checked_of(config, **options):
    return check_config(ResolvedRun.of(config), **options)


pytestmark = pytest.mark.slow  # whole runs


@pytest.fixture(scope="module")
def profile() -> TransferProfile:
    return profile_transfer(
        patients=14,
        features=3,
        classes=2,
        participants=(4, 5, 6),
        held_out=10,
        peers=4,
        backend="clear",
        repeats=1,
    )


def agreed(count=12, **constants) -> TransferAgreement:
    names = tuple(f"P{n}" for n in range(count))
    defaults = {"shape": 3, "samples": 14, "peers": 4}
    return agree("transfer", names, **(defaults | constants))


def test_answers_grow_with_the_hospitals_not_with_their_pairs(profile):
    assert [one.answers for one in profile.points] == [12, 20, 30]
    assert profile.held_out.answers == 10 * 4  # two groups of five
    assert profile.q == 4  # a logit of three features has no more parameters


def test_predictions_are_sums_of_prices(profile):
    for point, asked in zip((*profile.points, profile.held_out), (3, 4, 5, 4), strict=True):
        count = point.participants
        assert point.predicted == pytest.approx(
            count * profile.hospital_seconds
            + count * asked * profile.answer_seconds
            + count * asked * (asked - 1) * profile.mask_seconds
        )
        assert point.predicted == pytest.approx((1 + point.error) * point.seconds)


def test_every_hospital_costs_the_same_however_many_there_are(profile):
    few, many = (foretold(profile, agreed(count)) for count in (10, 100))
    assert few.answers == many.answers == 4
    assert few.hours == many.hours > 0
    assert few.gigabytes_up == many.gigabytes_up > 0
    hospital = few.hours * 3600
    assert 10 * hospital == pytest.approx(profile.held_out.predicted)


@pytest.mark.parametrize(
    ("other", "where"),
    [
        ({"shape": 2}, "features"),
        ({"classes": 3}, "classes"),
        ({"fit": "quadratic"}, "transfer.fit"),
        ({"q": 2}, "numbers a logit"),
        ({"samples": 15}, "samples"),
    ],
)
def test_prices_of_other_transfers_are_refused(profile, other, where):
    with pytest.raises(ConfigError, match=where):
        foretold(profile, agreed(**other))


@pytest.mark.parametrize("sizes", [(4, 5), (4, 4, 4), (3, 4, 5)])
def test_three_prices_need_three_sizes(sizes):
    with pytest.raises(ConfigError, match="three sizes"):
        profile_transfer(patients=14, features=3, classes=2, participants=sizes, backend="clear")


@pytest.mark.parametrize("patients", [0, -1])
def test_hospitals_without_patients_are_refused(patients):
    with pytest.raises(ConfigError, match="no patients"):
        profile_transfer(patients=patients, features=3, classes=2, backend="clear")


def test_the_table_says_how_far_it_was_off(profile):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(transfer_table(profile))
    text = console.export_text()
    assert "Last row, foretold from the others: " in text
    assert "groups of 5 or more" in text


def test_the_command_names_the_numbers_that_hospitals_get(profile):
    """Of 32 numbers that are wished for a logit of three features has four parameters."""
    command = measuring(agreed(q=32))
    assert command.endswith("--samples 14 --features 3 --classes 2 --q 4 --out cost.json")
    assert profile_transfer(
        patients=14,
        features=3,
        classes=2,
        participants=(4, 5, 6),
        held_out=7,
        q=4,
        backend="clear",
        repeats=1,
    ).q == agreed(q=32).numbers_of(14)
    with pytest.raises(ConfigError) as refused:
        foretold(profile, agreed(shape=40, samples=400, q=32))
    assert "--samples 400 --features 40 --classes 2 --q 32 " in refused.value.hint


def test_check_reads_the_prices_of_the_command_that_it_names(tmp_path):
    """From the configuration to its estimate, by the commands alone."""
    config = override(
        demo_config(),
        {
            "run.algorithms": ["standalone", "transfer"],
            "run.seeds": [0],
            "run.smaller": None,
            "data.most_training": 20,
        },
        source="test",
    )
    checked = checked_of(config)
    prices = tmp_path / "cost.json"
    command = checked.measure.removeprefix("securefair ").replace("cost.json", str(prices))
    few = "--participants 4,5,6 --held-out 7 --backend clear --repeats 1 --json"
    measured = CliRunner().invoke(app, [*command.split(), *few.split()])
    assert measured.exit_code == 0, measured.output
    assert json.loads(measured.stdout)["held_out"]["participants"] == 7
    assert checked.estimate is None
    estimate = checked_of(config, cost_model=prices).estimate
    assert estimate is not None
    assert (estimate.answers, estimate.rounds, estimate.peak_gigabytes) == (3, 1, None)
