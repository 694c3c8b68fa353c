"""What is found out of a configuration before a long run."""

import numpy as np
import pytest

from securefair.collaboration.resolved import ResolvedRun
from securefair.config.loading import parse_config
from securefair.errors import ConfigError

TABLES = """
[run]
name = "r"
algorithms = ["standalone"]
{metric}

[data]
source = "files"

[table]
label = "{label}"
{known}
columns = [{{ kind = "numeric", name = "age", low = 0, high = 100 }}]

[[participants]]
name = "north"
file = "{folder}/north.csv"

[[participants]]
name = "south"
file = "{folder}/south.csv"
"""


@pytest.fixture
def loaded(tmp_path):
    def run(metric, label, known):
        for at, name in enumerate(("north", "south")):
            ages = np.random.default_rng(at).integers(20, 80, 40)
            rows = [f"{age},{age / 10 + 1:.1f},{age % 2}" for age in ages]
            (tmp_path / f"{name}.csv").write_text("\n".join(["age,months,died", *rows]))
        text = TABLES.format(metric=metric, label=label, known=known, folder=tmp_path)
        return ResolvedRun.of(parse_config(text, source="r.toml")).load(outlines=True)

    return run


TIME = ("months", 'outcome = "time"\nevent = "died"')
CLASSES = ("died", 'classes = [["0"], ["1"]]')


@pytest.mark.parametrize(
    ("metric", "outcome"),
    [
        ("", TIME),
        ('metric = "integrated_brier"', TIME),
        ("", CLASSES),
        ('metric = "auc"', CLASSES),
    ],
)
def test_algorithms_are_compared_by_a_score_of_the_outcome(loaded, metric, outcome):
    assert loaded(metric, *outcome).data


@pytest.mark.parametrize(
    ("metric", "outcome", "expected"),
    [
        ("log_loss", TIME, "concordance, integrated_brier, partial_log_likelihood"),
        ("auc", TIME, "concordance, integrated_brier, partial_log_likelihood"),
        ("concordance", CLASSES, "log_loss, brier, auc, accuracy"),
        ("calibration_error", CLASSES, "log_loss, brier, auc, accuracy"),
    ],
)
def test_another_score_is_refused_before_anything_is_computed(loaded, metric, outcome, expected):
    with pytest.raises(ConfigError, match=f"run.metric.*found '{metric}', expected 'of {expected}"):
        loaded(f'metric = "{metric}"', *outcome)
