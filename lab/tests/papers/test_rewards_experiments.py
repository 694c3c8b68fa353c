"""CFFL's and FairSL's experiments: their figures by hand, names, states and missing data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from securefair.errors import DataError
from securefair.records import RoundRecord
from securefair.report import Progress
from securefair_lab.papers import cffl_tables, fairsl_forests, fairsl_networks
from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.comparison import compare, write_comparison, write_figure
from securefair_lab.papers.experiment import Finished, Row
from securefair_lab.papers.running import compared_rows, finished_runs
from securefair_lab.papers.stored import stored_result

TABLES = {"cffl": {1, 2}, "fairsl": {1, 2, 3, 4, 5, 6}}
FIGURES = {"cffl": {1, 2, 3}, "fairsl": set(range(1, 11))}


@pytest.mark.parametrize("paper", TABLES)
def test_every_table_and_figure_has_a_name(paper: str) -> None:
    names = {name for name in EXPERIMENTS if name.startswith(paper)}
    expected = {f"{paper}-table{n}" for n in TABLES[paper]}
    expected |= {f"{paper}-figure{n}" for n in FIGURES[paper]}
    assert names - {"cffl-free-rider", "cffl-controls", "fairsl-controls"} == expected


def finished(after: list[RoundRecord], before: list[RoundRecord]) -> Finished:
    contender = EXPERIMENTS["cffl-table1"].contenders("smoke", None)[4]
    assert not contender.control
    return Finished(contender, 0, after, before)


def test_fairness_is_the_correlation_of_accuracy_alone_and_after(
    record: Callable[..., RoundRecord],
) -> None:
    alone = [record([0.1, 0.2, 0.3])]
    straight = finished([record([0.9, 0.9, 0.9]), record([0.5, 0.6, 0.7])], alone)
    assert cffl_tables.fairness(straight)["fairness"] == pytest.approx(100)
    bent = finished([record([0.5, 0.7, 0.6])], alone)
    assert cffl_tables.fairness(bent)["fairness"] == pytest.approx(50)
    level = finished([record([0.5, 0.5, 0.5])], alone)
    assert cffl_tables.fairness(level) == {"fairness": 0.0}


def test_rounds_in_which_a_free_rider_was_paid_are_counted(
    record: Callable[..., RoundRecord],
) -> None:
    control = [record([0.5] * 5)]
    after = [
        record([0.1] * 5, [True] * 5),
        record([0.4, 0.4, 0.1, 0.6, 0.4], [True, True, False, True, False]),
    ]
    assert cffl_tables.isolation(finished(after, control)) == pytest.approx(
        {
            "rounds paid": 1,
            "honest isolated": 1,
            "honest accuracy": 45,
            "cost to the honest": 5,
        }
    )


def test_errors_fall_relative_to_those_of_the_smaller_participant(
    record: Callable[..., RoundRecord],
) -> None:
    run = finished([record([0.5, 0.6, 0.9, 0.88])], [record([0.5] * 4)])
    assert fairsl_networks.decreases(run) == pytest.approx({"1->2": 20, "2->3": 75, "3->4": -20})


def test_correlations_rise_relative_to_the_mean_of_the_smaller_participant() -> None:
    folds = np.array([[0.1, 0.3, 0.3], [0.3, 0.5, 0.3]])
    found = fairsl_forests.increases(folds)
    assert found["1->2"] == pytest.approx(100)  # not the mean of 200 and 67 percent
    assert found["2->3"] == pytest.approx(-25)
    assert found["p of 1->2"] == pytest.approx(0.2929, abs=1e-4)  # t = sqrt(2), 2 degrees


def test_all_scenarios_of_forests_see_the_same_folds() -> None:
    scores = fairsl_forests.scores(
        fairsl_forests.MATERNAL, fairsl_forests.THREE, "smoke", None, seed=3
    )
    assert {name: found.shape for name, found in scores.items()} == dict.fromkeys(
        fairsl_forests.SCENARIOS, (5, 3)
    )
    # Who has most gets every tree either way; equal exchange makes all alike.
    equal = scores[fairsl_forests.EQUAL]
    np.testing.assert_array_equal(equal[:, 0], equal[:, 2])
    np.testing.assert_array_equal(equal[:, 2], scores[fairsl_forests.METHOD][:, 2])


def test_claims_can_fail() -> None:
    def row(method: str, **metrics: float) -> Row:
        fields = {"dataset": "MNIST", "split": "imbalanced data size", "n": 5, "method": method}
        return Row(fields=fields, metrics=metrics, spread={}, paper={})

    above, fairer, than_dssgd = (claim.holds for claim in cffl_tables.TABLE_1.claims)
    assert above([row("CFFL", fairness=91.0), row("FedAvg", fairness=0.0)])
    assert not above([row("CFFL", fairness=89.0)])
    assert not fairer([row("CFFL", fairness=50.0), row("FedAvg", fairness=60.0)])
    assert not than_dssgd([row("CFFL", fairness=50.0), row("DSSGD", fairness=60.0)])
    *_, different, best = (claim.holds for claim in EXPERIMENTS["cffl-figure1"].claims)
    first = row("CFFL", P1=50.0, P2=95.0, P5=51.0)
    assert different([first])
    assert not best([first])
    assert not different([row("CFFL", P1=51.0, P2=51.0, P5=51.0)])
    assert best([row("CFFL", P1=50.0, P2=51.0, P5=51.0)])
    pays, pays_all = (claim.holds for claim in EXPERIMENTS["fairsl-figure10"].claims)
    alone = row("local", P1=50.0, P2=80.0)
    one_loses = [alone, row("fair SL (random forest)", P1=60.0, P2=79.0)]
    assert pays(one_loses)
    assert not pays_all(one_loses)
    assert pays_all([alone, row("fair SL (random forest)", P1=60.0, P2=81.0)])
    assert not pays([alone])
    rising = EXPERIMENTS["fairsl-table5"].claims[1].holds
    steps = {"1->2": 5.0, "2->3": -1.0, "p of 1->2": 0.01}
    assert rising([row("any", **steps, **{"p of 2->3": 0.2})])
    assert not rising([row("any", **steps, **{"p of 2->3": 0.02})])


def test_stored_fairness_of_cffl_is_above_90() -> None:
    """What `securefair reproduce cffl-table1 --size cpu --seeds 3` wrote."""
    stored = stored_result("cffl-table1")
    assert (stored.experiment, stored.size, stored.seeds) == ("cffl-table1", "cpu", 3)
    found = [number.ours for number in stored.numbers if number.fields["method"] == "CFFL"]
    assert len(found) == 8  # MNIST and Adult
    assert min(found) > 90
    assert not any(claim.verdict == "fails" for claim in stored.claims)


@pytest.fixture
def two_folds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The others repeat if these do."""
    monkeypatch.setattr(fairsl_forests, "SMOKE_FOLDS", 2)
    yield
    fairsl_forests.scores.cache_clear()  # other tests see all folds


@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("name", ["cffl-figure2", "fairsl-figure10"])
def test_what_is_written_is_the_same_every_time(
    name: str, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    whole = EXPERIMENTS[name]
    # A method beside its control: the others go the same way, and take most of the time.
    experiment = replace(whole, contenders=lambda *asked: whole.contenders(*asked)[:2])
    written = []
    for out in (tmp_path / "first", tmp_path / "second"):
        fairsl_forests.scores.cache_clear()
        done = finished_runs(
            experiment, "smoke", seeds=1, data=None, out=out, resume=False, progress=silent()
        )
        rows = compared_rows(experiment, "smoke", done, seeds=1, data=None, papers=None)
        files = write_comparison(compare(experiment, "smoke", 1, rows), out)
        assert experiment.draw is not None
        files.append(write_figure(experiment.draw(done, rows), out / "figure.png"))
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["cffl-table1", "cffl-figure2", "fairsl-table2", "fairsl-figure6"])
def test_missing_data_say_what_to_put_where(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    contender = experiment.contenders("cpu", tmp_path)[0]
    with pytest.raises(DataError, match=experiment.needs[0]) as raised:
        contender.members(0)
    assert str(tmp_path) in str(raised.value)


def test_missing_tables_of_forests_say_so_too(tmp_path: Path) -> None:
    measure = EXPERIMENTS["fairsl-table5"].measure
    assert measure is not None
    with pytest.raises(DataError, match=r"auction\.csv\.gz"):
        measure("cpu", tmp_path, 0)


def test_experiments_that_share_runs_mean_the_same_by_a_name() -> None:
    """Or a figure would run again what its table has run, and `--runs` would share nothing."""
    for size in ("smoke", "cpu", "paper"):
        seen: dict[tuple[str, str], tuple[object, ...]] = {}
        for experiment in EXPERIMENTS.values():
            if experiment.paper not in TABLES or size not in experiment.sizes:
                continue
            for contender in experiment.contenders(size, None):
                means = (contender.members, contender.algorithm, contender.rounds)
                assert seen.setdefault((experiment.paper, contender.label), means) == means
