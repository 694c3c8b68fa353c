"""Runs on data sets that are divided, from a configuration."""

import io

import numpy as np
import pytest
from rich.console import Console

from securefair import load_model
from securefair.config import override, parse_config
from securefair.errors import SecureFairError
from securefair.report.progress import PlainProgress
from securefair.run.folder import write_outcome
from securefair.user.participants import load_participants
from support.experiments import run_experiment

pytestmark = pytest.mark.slow

PARTITIONED = """
[run]
name = "cancer"
[data]
source = "breast-cancer"
[data.partition]
kind = "homogeneous"
participants = 3
[model]
kind = "linear"
[training]
rounds = 1
local_epochs = 2
[encryption]
backend = "clear"
"""
NETWORK = """
[run]
name = "digits"
algorithms = ["standalone", "vpdl", "cycle"]
[data]
source = "digits"
[data.partition]
kind = "homogeneous"
participants = 2
[model]
kind = "network"
network = "digits-8"
[training]
rounds = 1
local_epochs = 1
local_steps = 1
[encryption]
backend = "clear"
"""


def finished(config):
    return run_experiment(config, PlainProgress(Console(file=io.StringIO())))


def test_a_partition_divides_what_has_no_hospitals():
    config = parse_config(PARTITIONED, source="test")
    data = load_participants(config, seed=0)
    assert [own.name for own in data] == ["P1", "P2", "P3"]
    assert sum(len(own.train) + len(own.test) for own in data) == 569
    assert [own.name for own in finished(config).result.participants] == ["P1", "P2", "P3"]


def test_a_partition_that_is_impossible_is_refused():
    config = parse_config(PARTITIONED, source="test")
    with pytest.raises(SecureFairError, match=r"samples"):
        finished(override(config, {"data.partition.participants": 400}, source="test"))


def test_networks_are_kept_too(tmp_path):
    config = parse_config(NETWORK, source="test")
    outcome = finished(config)
    write_outcome(outcome, tmp_path)
    last = [one for one in outcome.rounds if one.algorithm == outcome.result.algorithm][-1]
    scores = [one.card.model.scores["accuracy"] for one in outcome.models]
    assert scores == pytest.approx(last.accuracy)
    assert load_model(tmp_path / "models" / "P1").predict_proba(np.zeros((2, 64))).shape == (2, 10)
