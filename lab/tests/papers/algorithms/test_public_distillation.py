"""FedMD and one-shot distillation: what public samples teach, and that no label of theirs does."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import torch

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError
from securefair.model.stacked_training import all_logits
from securefair.worth import run
from securefair_lab.algorithms.standalone import Standalone
from securefair_lab.papers.algorithms.fedmd import FedMd
from securefair_lab.papers.algorithms.one_shot import OneShot
from securefair_lab.papers.algorithms.public_samples import (
    distilled,
    public_features,
    public_logits,
)


@pytest.fixture
def population(make_networks):
    """Three participants with public samples: all their training features, wrongly labelled."""
    own = make_networks(pretraining_epochs=3)
    features = np.concatenate([p.train.features for p in own.participants])
    classes = own.participants[0].train.classes
    public = Samples(features, np.zeros(len(features), dtype=np.int64), classes)
    return replace(own, participants=tuple(replace(p, validation=public) for p in own.participants))


def encoded(records):
    return msgspec.json.encode(list(records))


def test_distilling_comes_near_the_answers_and_no_label_counts(population):
    start = population.start(1, common=False)
    wanted = torch.randn(len(public_features(population)), population.classes)

    def apart(states):
        found = all_logits(population.stacked, states.vectors, public_features(population))
        return float((found.softmax(-1) - wanted.softmax(-1)).abs().mean())

    settings = {"epochs": 30, "seed": 1, "clock": "any", "temperature": 1.0}
    after = distilled(population, start, wanted, optimizer=population.optimizer, **settings)
    assert apart(after) < apart(start)
    other = tuple(
        replace(p, validation=replace(p.validation, labels=p.validation.labels + 1))
        for p in population.participants[:1]
    )
    shared = other[0].validation
    relabelled = replace(
        population,
        participants=tuple(replace(p, validation=shared) for p in population.participants),
    )
    again = distilled(relabelled, start, wanted, optimizer=population.optimizer, **settings)
    assert torch.equal(after.vectors, again.vectors)


def test_fedmds_consensus_brings_scores_together(population):
    algorithm, alone = FedMd(digest_epochs=5), Standalone()
    spread = []
    for method in (algorithm, alone):
        state = method.init(population, 0)
        for _ in range(4):
            state, record = method.round(state, population)
        scores = public_logits(population, state.train_states.vectors, 0, 0).softmax(-1)
        spread.append(float(scores.std(dim=0).mean()))
    assert spread[0] < spread[1]
    count = len(public_features(population)) * population.classes
    state, record = algorithm.round(algorithm.init(population, 0), population)
    assert record.numbers_sent == [count] * 3


def test_one_shot_ends_with_one_model_that_stays(population):
    algorithm = OneShot(after=2, epochs=5)
    records = list(run(algorithm, population, 0, 4))
    assert [sum(map(sum, record.answered)) for record in records] == [0, 0, 6, 0]
    assert records[2].accuracy == records[3].accuracy
    alone = list(run(Standalone(), population, 0, 2))
    assert [r.accuracy for r in records[:2]] == [r.accuracy for r in alone]
    state = algorithm.init(population, 0)
    for _ in range(3):
        state, _ = algorithm.round(state, population)
    assert torch.equal(*state.train_states.vectors[:2])


@pytest.mark.parametrize("algorithm", [FedMd(), OneShot(after=1, epochs=2)])
def test_equal_seeds_give_identical_records(population, algorithm):
    assert encoded(run(algorithm, population, 1, 3)) == encoded(run(algorithm, population, 1, 3))
    assert encoded(run(algorithm, population, 1, 3)) != encoded(run(algorithm, population, 2, 3))


def test_public_samples_are_the_same_for_everyone(population):
    apart = tuple(
        replace(p, validation=Samples(p.train.features, p.train.labels, p.train.classes))
        for p in population.participants
    )
    with pytest.raises(DataError, match="the same for everyone"):
        public_features(replace(population, participants=apart))


@pytest.mark.parametrize(
    "make",
    [
        lambda: FedMd(digest_epochs=0),
        lambda: FedMd(temperature=0.0),
        lambda: OneShot(after=-1, epochs=1),
        lambda: OneShot(after=1, epochs=0),
    ],
)
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(ConfigError, match="out of range"):
        make()
