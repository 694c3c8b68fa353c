"""A hospital that sends false masks, or other numbers than its fit's, into a sum of fits.

Attacked: sums of `securefair.model.transfer.sums`, by one of the hospitals that make them. It can
take the sum from a student, and nobody can name it. It learns nothing by that, and a student whose
own patients speak against what it opened ends where it would without anybody.
"""

import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from securefair.model.probabilities import log_losses as losses
from securefair.model.transfer import without_peers
from securefair.model.transfer.sums.register import REGISTERED
from support.agreements import agree
from support.simulated import start_transfer

EVERY = pytest.mark.parametrize("name", REGISTERED)
HONEST, LIAR = ("h0", "h1", "h2", "h3"), "h4"


def patients(seed, count):
    """One rule for all: who learns from others gains."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 4))
    often = 1 / (1 + np.exp(-4 * (x[:, 0] - x[:, 1])))
    return Samples(x, (rng.uniform(size=count) < often).astype(np.int64), 2)


def run_with(name, lie):
    """One round among five, the last of whom does `lie` to the bytes of each of its parts."""
    people = [
        ParticipantData(one, patients(at, 30), patients(at + 50, 400))
        for at, one in enumerate((*HONEST, LIAR))
    ]
    agreed = agree("transfer", people, samples=30, sums=name, missing=0)
    run = start_transfer("transfer", people, agreed, seed=0, backend="clear")
    exchange = run.hosts[LIAR]._exchange
    honest = exchange.share
    exchange.share = lambda *part: lie(honest(*part))
    list(run.rounds(1))
    return run


def shifted(part, by):
    words = np.frombuffer(part, "<u4")
    return (words + by(len(words)).astype(np.uint32)).astype("<u4").tobytes()


def wild(part):
    """Masks that leave every word of the sum half the range from where it should be."""
    return shifted(part, lambda words: np.full(words, 2**31))


def within(part):
    """Noise so small that the sum stays in the range of honest ones."""
    most = int(0.2 * 2**31)
    return shifted(part, lambda words: np.random.default_rng(words).integers(-most, most, words))


def loss(model, host):
    return losses(model.logits(host.data.test.features), host.data.test.labels).mean()


@EVERY
@pytest.mark.parametrize("lie", [wild, within])
def test_false_masks_cost_a_sum_and_students_little_more(name, lie):
    """What is opened is noise, and own patients hardly trust it. They cannot check what is said of
    leaves: noise there takes the handicap off or makes it 8 nats, so it decides whether anybody's
    leaves count. A hospital of 30 patients is then better or worse by up to .02, and not on
    average."""
    run, honest = run_with(name, lie), run_with(name, lambda part: part)
    changes, gains = [], []
    for one in HONEST:
        host = run.hosts[one]
        assert bool(host.notes.released) == (lie is within)
        alone = loss(without_peers(host.own).model, host)
        changes.append(loss(host.model(), host) - alone)
        gains.append(alone - loss(honest.hosts[one].model(), host))
    assert np.mean(changes) < (0.01 if lie is within else 1e-9)
    assert np.mean(gains) > 0.03  # which is what the liar took


def test_all_senders_are_named_and_nobody_alone():
    """Wild words are seen in the sum, and in a sum alone: the liar hides among the others."""
    run = run_with("gradient", wild)
    for one in HONEST:
        (told,) = [text for text in run.problems if text.startswith(f"{one}: peer")]
        others = " or ".join(other for other in (*HONEST, LIAR) if other != one)
        assert told.startswith(f"{one}: peer {others}: the sum exceeds")
