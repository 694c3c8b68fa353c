"""One sentence, whoever says it."""

from securefair.collaboration.verdict import verdict_of
from securefair.records import MetricResult
from securefair.worth.verdict import Against


def gained(values, mean=0.03, se=0.01):
    return MetricResult(
        mean=mean,
        se=se,
        by_hospital={name: value for name, (value, _) in values.items()},
        se_by_hospital={name: error for name, (_, error) in values.items()},
    )


def said(values, score="log_loss", **mean):
    found = verdict_of(
        gained(values, **mean),
        score,
        algorithm="transfer",
        control="averaged_alone",
        against=Against(),
    )
    return found.sentence


def test_everybody_is_named_by_what_is_known_of_them():
    values = {"north": (0.2, 0.01), "south": (-0.2, 0.01), "west": (0.0, 0.2), "east": (None, None)}
    assert said(values) == (
        "Better predictions at north; worse predictions at south; too small or uncertain to tell "
        "at west and east: with Transfer, log-loss is lower by 0.030\u00a0\u00b1\u00a00.010 on "
        "average than with Averaged alone, the best model alone. The average leaves out east: "
        "those tested there are too few, or too much alike."
    )


def test_nobody_is_left_out_of_an_average_without_an_error():
    found = said({"a": (0.05, None), "b": (0.01, None)}, se=None)
    assert found.endswith("the best model alone.")


def test_who_agree_are_not_listed():
    values = dict.fromkeys(("a", "b", "c"), (0.05, 0.01))
    assert said(values).startswith("Better predictions at all 3: ")


def test_a_score_that_is_better_when_higher_is_said_to_be_higher():
    values = {"a": (0.05, 0.01)}
    assert "AUC is higher by 0.030" in said(values, "auc")
    assert "log-loss is higher by 0.030" in said(values, mean=-0.03)
    assert "log-loss is the same" in said({"a": (0.0, 0.0)}, mean=0.0, se=0.0)
