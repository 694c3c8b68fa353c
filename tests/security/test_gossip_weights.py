"""A neighbour that reads the asker's secret key out of the weights that it is shown.

Adversary: a malicious teacher of alignments. It makes an answer that opens to some digits of the
secret key, in base 3, and waits for the weight that follows: a sender of masked sums sees all
weights of a sum. Where the cosine reaches the weight as it is, one round tells all these digits.
Rounded to public levels it tells which level, and no more.
"""

import itertools
import math

import numpy as np
import pytest

from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_context import seal_context
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.gossip.alignment import AlignmentStudent
from securefair.collaboration.gossip.run import start_gossip
from securefair.collaboration.gossip.weighing import Row
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.fairness import mixing
from securefair.model.training import OptimizerConfig

NAMES = ("ann", "bea", "cem", "dan")
ASKER, ATTACKER = "ann", "bea"
DIGITS = 6
POWERS = 3.0 ** -np.arange(DIGITS)


@pytest.fixture(scope="module")
def agreement():
    return GossipAgreement(
        participants=NAMES, shape=(40,), classes=2, network="linear-head", sketch=None
    )


@pytest.fixture(scope="module")
def student(agreement):
    return AlignmentStudent(agreement.alignment, backend="rns")


def crafted(plan, factors):
    """An answer that opens to the sum of factors[i] s_i, with the secret key's first numbers s_i.

    Released is the constant coefficient of c_0 + c_1 s, in which s_i stands with -(c_1)_(N - i).
    """
    meta = plan.inner.released
    n, primes = meta.params.ring_degree, meta.params.primes[: meta.limbs]
    c1 = np.zeros((1, meta.limbs, n), np.uint64)
    for i, factor in enumerate(factors):
        whole = round(factor * 2.0**meta.log2_scale) * (1 if i == 0 else -1)
        c1[0, :, -i % n] = [whole % prime for prime in primes]
    masks = seal_context(meta.params).to_ntt(c1)[:, None].astype(np.uint32)
    return wire.write_answer(masks, np.zeros((meta.count, 1, meta.limbs), np.uint32))


def read_from(weights, before, beta, alpha):
    """The similarity that a row of weights was made of, by whoever sees the row."""
    own, attacker = NAMES.index(ASKER), NAMES.index(ATTACKER)
    preferred = (weights - alpha * before) / (1 - alpha)
    return 1 + math.log(preferred[attacker] / preferred[own]) / beta  # the own similarity is 1


def digits_of(value, factor):
    """The digits -1, 0 and 1 whose sum over 3^-i is nearest."""
    every = itertools.product((-1, 0, 1), repeat=DIGITS)
    return min(every, key=lambda s: abs(POWERS @ s - value / factor))


def test_weights_of_unrounded_cosines_tell_the_secret_key(agreement, student):
    """The vulnerable step: similarities go into the row as they were opened."""
    factor = 0.6
    cosine = student.open(crafted(agreement.alignment, factor * POWERS))
    row = Row.start(agreement, ASKER)
    similarity = float(mixing.similarity(np.array([cosine]))[0])
    seen = row.weighed({ATTACKER: similarity}).weights
    read = 2 * read_from(seen, row.weights, agreement.beta, agreement.alpha) - 1
    first = digits_of(read, factor)
    assert first == digits_of(cosine, factor)
    assert set(first) != {0}
    # They are the key's: answers that hold one number each open to the same.
    for digit, unit in zip(first, 0.9 * np.eye(DIGITS), strict=True):
        assert round(student.open(crafted(agreement.alignment, unit))) == digit


def test_weights_of_levels_tell_the_level_alone(agreement, student):
    row = Row.start(agreement, ASKER)
    rows = {
        row.weighed({ATTACKER: row.similarity(cosine)}).weights.tobytes()
        for cosine in np.linspace(-1, 1, 3**DIGITS)
    }
    assert len(rows) == agreement.levels
    # One more outcome: that the answer could not be opened, which leaves the row as it is.
    assert agreement.bits_per_alignment == math.log2(1 + len(rows)) < 2.6
    whole = row.weighed(
        {ATTACKER: row.similarity(student.open(crafted(agreement.alignment, 0.6 * POWERS)))}
    )
    assert whole.weights.tobytes() in rows


def test_a_well_formed_answer_of_one_coordinate_tells_no_more(agreement):
    """Without touching the scheme: the direction e_k opens the asker's own coordinate."""
    rng = np.random.default_rng(0)
    gradient = rng.normal(size=agreement.stacked.trained)
    direction = agreement.alignment.direction(gradient, b"")
    row = Row.start(agreement, ASKER)
    seen = {row.similarity(float(coordinate)) for coordinate in direction}
    assert seen <= {level / (agreement.levels - 1) for level in range(agreement.levels)}
    assert len({float(coordinate) for coordinate in direction}) > 10 * len(seen)


def started(**changes):
    """Four participants that average small models, sums in the clear."""
    rng = np.random.default_rng(0)

    def drawn():
        labels = np.arange(20) % 2
        features = rng.normal(0.3 * (2 * labels[:, None] - 1), 0.3, (20, 4))
        return Samples(np.clip(features, -1, 1), labels, 2)

    facts = {"shape": (4,), "classes": 2, "network": "linear-head", "averaging": "clear"}
    return start_gossip(
        "cycle-gossip",
        [ParticipantData(name, drawn(), drawn()) for name in NAMES],
        GossipAgreement(participants=NAMES, sketch=None, forced_every=1, **(facts | changes)),
        OptimizerConfig(learning_rate=0.05),
        pretraining_epochs=1,
        seed=0,
        backend="clear",
    )


def test_a_new_key_follows_before_a_peer_could_be_told_more_than_its_bits():
    """So the trits that all weights ever told are of many keys, and too few of any of them."""
    run = started(key_bits=16.0)
    asker = run.engine.participants[ASKER]
    epochs, told = [], []
    for _ in run.rounds(12):
        told.append(asker.machine.ledger.accounts[ATTACKER].key_bits)
        introduction = run.engine.participants[ATTACKER].machine.memory.peers[ASKER].introduction
        epochs.append(introduction.key_epoch)
    assert max(told) <= 16
    assert epochs == sorted(epochs)
    assert epochs[-1] == 2  # five alignments a key
    assert not run.problems
    total = asker.machine.ledger.accounts[ATTACKER].bits
    assert total == pytest.approx(12 * asker.agreement.bits_per_alignment)


def test_by_default_a_key_serves_for_some_twenty_alignments(agreement):
    assert agreement.key_bits == 64
    settings = agreement.machine_settings(ASKER, DisclosureLimits())
    rounds = (settings.key_bits - settings.round_bits) // agreement.bits_per_alignment + 1
    assert rounds == 23


def test_a_key_that_one_alignment_could_spend_is_refused():
    with pytest.raises(ConfigError, match="key_bits"):
        started(key_bits=2.0)
