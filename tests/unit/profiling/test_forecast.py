"""What `check` promises is what a run then does."""

import json
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from securefair.averaging.shares import KEY_BYTES
from securefair.cli import app
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import demo_config, override
from securefair.errors import ConfigError, DataError, PlanError
from securefair.model.teachers import teacher_of
from securefair.profiling.forecast import check_config
from securefair.report import show_progress
from securefair.user.participants import load_participants
from support.experiments import run_experiment


def checked_of(config, **options):
    return check_config(ResolvedRun.of(config), **options)


pytestmark = pytest.mark.slow

SMALL = {
    "run.smaller": None,
    "run.algorithms": ["standalone", "vpdl", "cycle"],
    "encryption.backend": "clear",
    "model.kind": "linear",
    "training.rounds": 3,
    "training.local_epochs": 1,
    "fairness.forced_every": 2,
    "distillation.q": 16,  # a linear head has few parameters to tell
    "run.seeds": [0],
}


def small(**changes):
    return override(demo_config(), SMALL | changes, source="test")


def test_traffic_and_disclosure_are_those_of_the_run():
    checked = checked_of(small())
    with show_progress(Console(quiet=True)) as progress:
        outcome = run_experiment(small(), progress)
    for one in checked.algorithms:
        rows = [row for row in outcome.traffic if row.algorithm == one.name]
        answers = sum(row.count for row in rows if row.message == "answer")
        assert one.least_answers <= answers <= one.most_answers
    assert checked.rounds == 3
    vpdl, cycle = checked.algorithms
    assert vpdl.least_answers == vpdl.most_answers == 3 * 12
    assert (cycle.least_answers, cycle.most_answers) == (2 * 12, 3 * 12)
    assert cycle.least_bytes < cycle.most_bytes == vpdl.most_bytes == vpdl.least_bytes
    for row in outcome.ledger:
        promised = next(one for one in checked.disclosure if one.student == row.student)
        assert promised.numbers_per_answer == row.numbers_per_answer
        assert promised.teacher_parameters == row.teacher_parameters
        assert promised.student_logits == row.student_logits


@pytest.mark.parametrize("total", ["student_total", "teacher_total"])
def test_totals_of_the_ledger_limit_what_is_promised(total):
    config = small(**{f"disclosure.{total}": 70, "run.algorithms": ["standalone", "vpdl"]})
    checked = checked_of(config)
    (one,) = checked.algorithms
    with show_progress(Console(quiet=True)) as progress:
        outcome = run_experiment(config, progress)
    answers = 4 * 3 * 2 if total == "student_total" else 4 * 2  # of 32 numbers each
    assert outcome.result.encryption.answers == answers
    assert one.least_answers == one.most_answers == answers
    assert one.least_bytes == one.most_bytes
    if total == "student_total":
        assert {row.numbers_in_run for row in checked.disclosure} == {64}
        assert max(row.numbers_total for row in outcome.ledger) == 64


def test_numbers_that_add_up_to_a_model_are_warned_of():
    def warnings(rounds):
        return " ".join(checked_of(small(**{"training.rounds": rounds})).warnings)

    assert "treat the model as known" not in warnings(2)  # 2 x 32 numbers, 66 parameters
    assert "may get 96 numbers of a teacher's model, which has 66" in warnings(3)


def test_bytes_are_those_on_the_wire():
    """Encrypted, since the clear backend sends floats; keys are an upper bound."""
    config = small(
        **{
            "encryption.backend": "seal",
            "run.algorithms": ["standalone", "vpdl"],
            "training.rounds": 2,
        }
    )
    (one,) = checked_of(config).algorithms
    with show_progress(Console(quiet=True)) as progress:
        outcome = run_experiment(config, progress)
    sent = sum(
        row.bytes
        for row in outcome.traffic
        if row.message in ("keys", "features", "query", "answer")
    )
    assert one.most_bytes == pytest.approx(sent, rel=0.05)


def test_a_teacher_that_would_never_answer_is_noticed():
    config = small(**{"distillation.q": 64, "training.rounds": 1})
    checked = checked_of(config)
    assert not any(row.permitted for row in checked.disclosure)
    with show_progress(Console(quiet=True)) as progress:
        assert run_experiment(config, progress).result.encryption.answers == 0
    assert [one.most_answers for one in checked.algorithms] == [0, 0]
    assert any("No teacher would ever answer Cleveland" in text for text in checked.warnings)


def test_clear_is_not_passed_over_in_silence():
    assert any("encrypts nothing" in text for text in checked_of(small()).warnings)


def test_a_transfer_has_one_round_whatever_the_others_have():
    config = small(**{"run.algorithms": ["standalone", "transfer"]})
    assert checked_of(config).rounds == 1
    config = small(**{"run.algorithms": ["standalone", "vpdl", "transfer"]})
    assert checked_of(config).rounds == 3


def test_alone_nothing_is_planned():
    checked = checked_of(small(**{"run.algorithms": ["standalone"]}))
    assert (checked.plan, checked.algorithms, checked.disclosure) == (None, [], [])


def test_what_a_run_would_refuse_is_refused():
    with pytest.raises(PlanError, match=r"^Switzerland, q"):
        checked_of(small(**{"distillation.q": 100}))


def test_a_teacher_that_a_run_would_refuse_is_refused():
    def checked(**changes):
        run = ResolvedRun.of(small(**{"run.algorithms": ["standalone", "transfer"]}, **changes))
        first, *others = load_participants(run.config, 0)
        brought = replace(first, teacher=teacher_of("forest", where="here"))
        return check_config(replace(run, data={0: [brought, *others]}))

    linear = {"transfer.fit": "linear", "transfer.sums": "auto"}
    found = checked(**linear)
    assert "a hospital answers by a model that it brings" in found.chosen[0]
    with pytest.raises(ConfigError, match=r"cannot add up.*a model that it brings"):
        checked(**linear | {"transfer.sums": "gradient"})
    with pytest.raises(ConfigError, match=r"no private fit.*forest"):
        checked(**{"transfer.fit": "linear", "privacy.epsilon": 2.0})
    checked(**linear | {"transfer.sums": "none"})


def test_what_is_promised_to_too_few_patients_is_refused():
    promise = {"run.algorithms": ["standalone", "vpdl"], "privacy.epsilon": 2.0}
    checked_of(small(**promise))
    with pytest.raises(ConfigError, match=r"privacy\.delta"):
        checked_of(small(**promise, **{"privacy.delta": 0.1}))


@pytest.mark.parametrize("main", ["cycle-gossip", "standalone"])
def test_what_has_no_price_is_told(tmp_path, main):
    config = small(**{"run.algorithms": list({"standalone": 0, main: 0})})
    with pytest.raises(ConfigError, match="no measured price") as caught:
        checked_of(config, cost_model=tmp_path / "cost.json")
    assert caught.value.found == main
    assert caught.value.expected == "transfer or validation or vpdl or cycle"


def test_the_prices_of_averages_are_measured_as_agreed():
    """Both commands of a check measure what its run would do: the same sizes, the same bytes."""
    checked = checked_of(small(**{"run.algorithms": ["standalone", "cycle-gossip"]}))
    one_sum, cosine = checked.measure.split("; ")
    assert one_sum.startswith("securefair profile averaging ")
    assert cosine.startswith("securefair profile alignment ")
    measured = []
    for command in (one_sum, cosine):
        done = CliRunner().invoke(app, [*command.split()[1:], "--repeats", "1", "--json"])
        assert done.exit_code == 0, done.output
        measured.append(json.loads(done.stdout))
    sums = checked.sums
    assert measured[0]["wish"]["parameters"] == sums.parameters
    assert measured[0]["bytes_per_edge"] == sums.request_bytes + sums.share_bytes + KEY_BYTES
    assert measured[0]["error_bound"] == pytest.approx(sums.sum_error)
    assert (measured[1]["bytes_up"], measured[1]["bytes_down"]) == (
        sums.query_bytes,
        sums.answer_bytes,
    )


def test_a_cost_model_must_be_one(tmp_path):
    with pytest.raises(DataError, match="no measured prices"):
        checked_of(small(), cost_model=tmp_path / "cost.json")
