"""Controls by heads of numpy arrays against the same controls by heads of torch."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.errors import ConfigError, ModelError
from securefair.worth import EarlyStopping, run
from securefair.worth.plain_heads import PlainLearners


@pytest.fixture
def make_both(make_learners):
    """The same participants twice."""

    def make(kind):
        theirs = make_learners(head=kind, local_epochs=0, local_steps=1)
        return theirs, PlainLearners(
            participants=theirs.participants,
            head=kind,
            hidden=theirs.hidden,
            optimizer=theirs.optimizer,
        )

    return make


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
@pytest.mark.parametrize("folds", [None, 3])
def test_the_control_that_stops_early_is_the_same(kind, folds, make_both):
    theirs, ours = make_both(kind)
    early = EarlyStopping(rounds=12, folds=folds)
    (expected,), (found,) = (list(run(early, people, 4, 1)) for people in (theirs, ours))
    assert found.accuracy == expected.accuracy
    assert found.cross_entropy == pytest.approx(expected.cross_entropy, abs=1e-12)
    states = [early.init(people, 4) for people in (theirs, ours)]
    assert states[0].stops == states[1].stops
    assert max(states[0].stops.values()) > 0
    models = [p.models(s.train_states) for p, s in zip((theirs, ours), states, strict=True)]
    for own in ours.participants:
        logits = [one[own.name].logits(own.test.features) for one in models]
        assert np.abs(logits[0] - logits[1]).max() < 1e-12


def test_whose_training_diverged_is_said(make_both):
    _, ours = make_both("quadratic")
    wild = replace(ours, optimizer=replace(ours.optimizer, learning_rate=1e200, clip_norm=None))
    with pytest.raises(ModelError, match=r"\ba\b.*diverged"):
        EarlyStopping(rounds=9).init(wild, 0)


def test_participants_must_fit_together(make_both):
    _, ours = make_both("linear")
    with pytest.raises(ConfigError, match="one name"):
        ours.joined_by([ours.participants[0]] * 2)
