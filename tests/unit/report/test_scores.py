"""What predictions are worth, in sentences."""

import msgspec
import pytest

from securefair.records import MetricResult
from securefair.report import scores
from securefair.words import words_of
from support.verdicts import with_verdicts

HOSPITALS = words_of().about("hospitals")


def with_gains(result, **gains):
    """The result with log-loss gained over the best control, as (mean, se) by algorithm."""
    figures = dict(result.algorithms)
    for name, (mean, se) in gains.items():
        gain = MetricResult(
            mean=mean, se=se, by_hospital={"Cleveland": mean}, se_by_hospital={"Cleveland": se}
        )
        figures[name] = msgspec.structs.replace(
            figures[name], gain_over_best_control={"log_loss": gain}, best_control="standalone"
        )
    return with_verdicts(msgspec.structs.replace(result, algorithms=figures))


@pytest.fixture
def told(make_run):
    run = make_run(algorithms=("standalone", "vpdl", "cycle"))

    def tell(**gains):
        return scores.worth(with_gains(run.result, **gains), HOSPITALS)

    return tell


def test_the_verdict_comes_first_then_those_of_the_other_collaborations(told):
    first, second = told(cycle=(0.05, 0.01), vpdl=(-0.081, 0.024))
    assert first.startswith("Better predictions at Cleveland: with CYCle, log-loss is lower")
    assert second.startswith("Worse predictions at Cleveland: with VPDL, log-loss is higher")


def test_a_model_of_one_class_is_told_of_without_a_claim_that_it_tells_nothing(told, make_run):
    result = with_gains(make_run().result, cycle=(0.05, 0.01))
    figure = msgspec.structs.replace(result.algorithms["cycle"], nearly_constant=["Hungary"])
    named = msgspec.structs.replace(result, algorithms=result.algorithms | {"cycle": figure})
    *_, last = scores.worth(named, HOSPITALS)
    assert "of Hungary, the model says the same class" in last
    assert "only its probabilities may" in last


def test_no_score_is_certain_because_all_of_few_are_right():
    sure = MetricResult(mean=1.0, se=0.0, by_hospital={}, se_by_hospital={}, interval=(0.676, 1.0))
    assert scores.cell(sure, words_of()) == "1.000 [0.68, 1.00]"
    row = scores.ScoreRow("a", (scores.cell(sure, words_of()),))
    assert "95\u00a0% interval" in scores.certain_note([row], words_of())
    ranked = msgspec.structs.replace(sure, interval=None)  # the AUC is no share of patients
    assert scores.cell(ranked, words_of()) == "1.000"
    usual = msgspec.structs.replace(sure, mean=0.9, se=0.05)
    assert scores.cell(usual, words_of()) == "0.900 \u00b1 0.050"
    assert (
        scores.certain_note([scores.ScoreRow("a", (scores.cell(usual, words_of()),))], words_of())
        == ""
    )


@pytest.mark.parametrize(
    ("cells", "titles"),
    [
        ([("0.75", "", ""), ("0.80", "", "")], []),
        ([("0.75", "", ""), ("0.80", "South +0.50", "")], ["Weights of teachers"]),
        ([("0.75", "", "their mean (seed 0)"), ("0.80", "", "")], ["Left out"]),
    ],
)
def test_what_own_patients_say_of_peers_has_no_empty_column(cells, titles):
    rows = [scores.ScoreRow("North", each) for each in cells]
    columns = scores.trust_columns(rows, HOSPITALS)
    assert [one.title for one in columns] == titles
    assert all(any(row.cells[one.at] for row in rows) for one in columns)
