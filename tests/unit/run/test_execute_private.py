"""Whole runs whose teachers are private: what metrics.json says, and resuming."""

import csv
import io
import json

import pytest

from securefair.collaboration.kinds import kinds_of
from securefair.collaboration.privacy import (
    DECISIONS,
    FOLLOWED,
    ONE_SEED,
    RANGES,
    ROWS,
    SIMULATED,
)
from securefair.config import demo_config, override, parse_config
from securefair.errors import ConfigError, DataError, LedgerError
from securefair.report.facts import problem_lines
from securefair.run.folder import write_outcome
from securefair.sites.simulation.starting import simulated
from support.experiments import run_experiment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]

SMALL = {
    "run.algorithms": ["standalone", "vpdl", "cycle"],
    "run.smaller": None,
    "encryption.backend": "clear",
    "model.kind": "linear",
    "distillation.q": 4,
    "training.rounds": 2,
    "training.local_epochs": 1,
    "run.seeds": [0],
    "privacy.epsilon": 2.0,
}


class Silent:
    def start(self, *_, **__):
        return self

    def advance(self, record):
        pass

    def finish(self):
        pass


def small(**changes):
    return override(demo_config(), SMALL | changes, source="test")


@pytest.fixture(scope="module")
def outcome():
    return run_experiment(small(), Silent())


@pytest.fixture(scope="module")
def without():
    """Of a run without the section."""
    config = override(demo_config(), {k: v for k, v in SMALL.items() if "privacy" not in k})
    return run_experiment(config, Silent())


def test_metrics_state_what_every_hospital_promises_and_has_spent(outcome, tmp_path):
    write_outcome(outcome, tmp_path / "out")
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert set(metrics["privacy"]) == {one["name"] for one in metrics["participants"]}
    for one in metrics["privacy"].values():
        assert one["mechanism"] == "objective perturbation"
        assert one["epsilon"] == 2.0
        assert 0 < one["spent_epsilon"] <= one["epsilon"]
        assert 0 < one["delta"] < 1 / 40
        assert one["unit"] == "patient"
        assert one["caveats"] == [SIMULATED, ROWS, DECISIONS]
        assert one["asked_epsilon"] is None  # cycle declines by alignments


def test_who_always_answers_says_nothing_about_those_it_asked_about():
    outcome = run_experiment(small(**{"run.algorithms": ["standalone", "vpdl"]}), Silent())
    for one in outcome.result.privacy.values():
        assert one.asked_epsilon == 0.0
        assert one.caveats == [SIMULATED, ROWS]


def test_figures_of_several_seeds_are_said_to_be_of_one(two):
    changes = {"run.algorithms": ["standalone", "vpdl"], "run.seeds": [0, 1]}
    for one in run_experiment(small(**changes), Silent()).result.privacy.values():
        assert one.spent_epsilon == 2.0
        assert one.caveats == [SIMULATED, ROWS, ONE_SEED]


def test_without_the_section_nothing_is_said(without):
    assert without.result.privacy is None


def test_the_models_that_answer_are_private_ones():
    """Every answer comes from the fit: what a student opens is the same in every round."""
    from securefair.collaboration import PublicFacts
    from securefair.collaboration.distillation.kind import VPDL
    from securefair.collaboration.private import private_teachers

    config = small(
        **{
            "run.algorithms": ["standalone", "vpdl"],
            "distillation.release": "logits",
            "distillation.prevalence": "teacher",
        }
    )
    from securefair.user.participants import load_participants

    data = load_participants(config, 0)
    run = simulated(VPDL, VPDL.agree(config, PublicFacts.of(data), seed=0), data, seed=0)
    teachers = private_teachers(
        data, ["linear"] * 3, config.privacy, seed=0, hidden=config.model.hidden
    )
    for record in run.rounds(2):
        for own in run.hosts.values():
            for peer, opened in own.rounds[record.round].opened.items():
                expected = teachers[peer].model.logits(own.data.train.features)
                assert opened.logits == pytest.approx(expected, abs=0.02)


def test_peers_that_promise_too_little_are_not_asked():
    config = small(**{"privacy.require_epsilon": 1.0, "privacy.require_delta": 1e-2})
    outcome = run_experiment(config, Silent())
    assert outcome.exchanges == [] or not any(one.answered for one in outcome.exchanges)
    assert any("promises its patients less" in problem for problem in problem_lines(outcome.result))


def test_a_store_makes_the_budget_last(two, tmp_path):
    changes = {"privacy.store": str(tmp_path / "store")}
    first = run_experiment(small(**changes), Silent()).result.privacy
    second = run_experiment(small(**changes), Silent()).result.privacy
    assert first == second
    assert all(one.noise == "operating system" for one in first.values())
    assert all(SIMULATED not in one.caveats for one in first.values())
    with pytest.raises(LedgerError):
        run_experiment(small(**changes, **{"privacy.epsilon": 1.0}), Silent())


def test_sentences_are_about_all_runs_so_far(two, tmp_path):
    """Two fits of epsilon 1 and 0.5, both of which have answered."""
    changes = {
        "run.algorithms": ["standalone", "vpdl"],
        "privacy.store": str(tmp_path / "store"),
        "privacy.delta": 1e-4,
        "privacy.total_epsilon": 2.0,
        "privacy.total_delta": 1e-3,
    }
    for epsilon, factor in ((1.0, "2.72 times"), (0.5, "4.48 times")):
        outcome = run_experiment(small(**changes | {"privacy.epsilon": epsilon}), Silent())
        for one in outcome.result.privacy.values():
            assert factor in one.meaning
        for kept in outcome.models:
            assert factor in kept.card.privacy


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"privacy.epsilon": 0.0}, "privacy.epsilon"),
        ({"privacy.epsilon": 65.0}, "privacy.epsilon"),
        ({"privacy.delta": 1.0}, "privacy.delta"),
        ({"privacy.unit": "row"}, "privacy.unit"),
        ({"privacy.total_epsilon": 4.0}, "privacy.total_epsilon"),
        ({"privacy.store": "s", "privacy.total_epsilon": 4.0}, "privacy.total_epsilon"),
        ({"privacy.store": "s", "privacy.total_delta": 1e-4}, "privacy.total_epsilon"),
        ({"privacy.require_epsilon": 4.0}, "privacy.require_epsilon"),
        ({"privacy.patient_column": "id"}, "belongs in [table]"),  # where it was once
        ({"privacy.store": "s", "run.seeds": [0, 1]}, "privacy.store"),
        ({"privacy.store": "s", "run.smaller": 20}, "privacy.store"),
        ({"run.algorithms": ["standalone", "cycle-gossip"]}, "privacy"),
        ({"privacy.asked_epsilon": 1.0}, "privacy.asked_epsilon"),  # of a projection
        ({"privacy.asked_epsilon": 0.0}, "privacy.asked_epsilon"),
    ],
)
def test_settings_that_make_no_sense(changes, key):
    with pytest.raises(ConfigError) as error:
        kinds_of(small(**changes))
    assert key in str(error.value)


def test_delta_above_one_over_the_patients_names_the_hospital():
    with pytest.raises(ConfigError, match=r"Cleveland, privacy\.delta"):
        run_experiment(small(**{"privacy.delta": 0.0256}), Silent())


FILES = """
[run]
name = "files"
algorithms = ["standalone", "vpdl"]
[data]
source = "files"
[table]
label = "ill"
patient_column = "{column}"
[model]
kind = "linear"
[training]
rounds = 1
local_epochs = 1
[distillation]
release = "logits"
[encryption]
backend = "clear"
[privacy]
epsilon = 2.0
[[participants]]
name = "north"
file = "{folder}/north.csv"
[[participants]]
name = "south"
file = "{folder}/south.csv"
"""


def tables(folder, blank=False):
    for name in ("north", "south"):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", "age", "marker", "ill"])
            for i in range(60):
                patient = "" if blank and i == 7 else f"P{i // 2}"
                writer.writerow([patient, 20 + i, (i * 7) % 13, int(i % 3 == 0)])


def test_a_column_names_the_patients_and_is_no_feature(tmp_path):
    tables(tmp_path)
    config = parse_config(FILES.format(column="patient", folder=tmp_path), source="test")
    result = run_experiment(config, Silent()).result
    # At most 30 patients behind 40 rows: a tenth of 1/30, where rows would allow a tenth of 1/40.
    assert result.privacy["north"].delta == 1e-3
    assert RANGES in result.privacy["north"].caveats
    assert ROWS not in result.privacy["north"].caveats


def test_a_missing_column_of_patients_is_refused(tmp_path):
    tables(tmp_path)
    config = parse_config(FILES.format(column="person", folder=tmp_path), source="test")
    with pytest.raises(DataError, match="person"):
        run_experiment(config, Silent())


def test_a_row_of_no_patient_is_refused(tmp_path):
    tables(tmp_path, blank=True)
    config = parse_config(FILES.format(column="patient", folder=tmp_path), source="test")
    with pytest.raises(DataError, match="line 9"):
        run_experiment(config, Silent())


def test_terminal_report_and_card_say_what_is_promised(outcome, tmp_path):
    from rich.console import Console

    from securefair.report.terminal import summary

    write_outcome(outcome, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Answers come from private models." in page
    assert "7.39 times as likely" in page
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(
        summary(
            outcome.result,
            ledger=outcome.ledger,
            traffic=outcome.traffic,
            source=small().data.source,
        )
    )
    text = console.export_text()
    assert "What is promised to patients" in text
    assert "A simulation" in text
    (card, *_) = [one.card for one in outcome.models]
    assert "7.39 times as likely" in card.privacy


def test_a_report_without_the_section_promises_nothing(without, tmp_path):
    write_outcome(without, tmp_path / "out")
    assert "there is no [privacy] section" in (tmp_path / "out" / "report.html").read_text()


def test_all_algorithms_of_a_run_answer_from_one_fit_that_is_charged_once(two, tmp_path):
    changes = {"privacy.store": str(tmp_path / "store"), "model.kind": "quadratic"}
    for one in run_experiment(small(**changes), Silent()).result.privacy.values():
        assert one.spent_epsilon == 2.0
    linear = run_experiment(small(**changes | {"model.kind": "linear"}), Silent())
    assert all(one.spent_epsilon == 2.0 for one in linear.result.privacy.values())


def test_a_transfer_answers_from_private_fits():
    outcome = run_experiment(small(**{"run.algorithms": ["standalone", "transfer"]}), Silent())
    assert not problem_lines(outcome.result)
    for one in outcome.result.privacy.values():
        assert one.mechanism == "objective perturbation"
        assert one.spent_epsilon == one.epsilon == 2.0
        assert one.asked_epsilon == 0.0


ALIGNMENTS = {
    "run.algorithms": ["standalone", "cycle"],
    "distillation.release": "logits",
    "distillation.prevalence": "teacher",
    "privacy.asked_epsilon": 1.0,
}


def test_private_alignments_state_a_second_pair_of_figures(tmp_path):
    config = small(**ALIGNMENTS)
    outcome = run_experiment(config, Silent())
    assert not problem_lines(outcome.result)
    for one in outcome.result.privacy.values():
        assert one.asked_epsilon == pytest.approx(1.0, rel=0.01)
        assert one.asked_epsilon <= 1.0
        assert one.epsilon == 3.0  # the limit is of fits and alignments together
        assert one.delta == one.spent_delta + one.asked_delta
        assert "20.1 times as likely" in one.meaning
        assert one.caveats == [SIMULATED, ROWS, FOLLOWED]
    # The budget of each round: the fit before the first, alignments in the first forced one.
    spent = [one.privacy_spent for one in outcome.rounds if one.algorithm == "cycle"]
    assert spent[0] == spent[1]
    assert spent[0][0] == pytest.approx(3.0, rel=0.01)
    write_outcome(outcome, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Epsilon spent in this run by the end of a round" in page
    assert ", delta 1.0\u00a0\u00d7\u00a010\u207b\u00b3" in page


def test_alignments_are_charged_once_and_kept(two, tmp_path):
    changes = ALIGNMENTS | {"privacy.store": str(tmp_path / "store")}
    first = run_experiment(small(**changes), Silent())
    again = run_experiment(small(**changes), Silent())
    assert first.result.privacy == again.result.privacy
    formed = [one.alignment for one in first.rounds if one.forced]
    assert formed == [one.alignment for one in again.rounds if one.forced]
    with pytest.raises(LedgerError):  # alignments of another epsilon are other alignments
        run_experiment(small(**changes | {"privacy.asked_epsilon": 0.5}), Silent())
