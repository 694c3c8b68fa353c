"""What neighbours read out of the weights that they are shown, and of offers.

Adversary: a malicious teacher of alignments. It makes an answer that opens to some digits of the
secret key, in base 3, and waits for the weight that follows: a sender of masked sums sees its
weight. Where the cosine reaches the weight as it is, one round tells all these digits. Rounded to
public levels it tells which level, and no more.

A curious sender reads more than its own level out of a weight that was normalised: the levels of
all other neighbours. And a malicious one moves its victim's model to the edge of the planned range,
to see whether an offer follows.
"""

import itertools
import math

import numpy as np
import pytest
import torch

from securefair.averaging.spec import check_vector
from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_context import seal_context
from securefair.collaboration.gossip.alignment import AlignmentStudent
from securefair.collaboration.gossip.host import GossipHost
from securefair.collaboration.gossip.participant import MARGIN, vector_of
from securefair.collaboration.gossip.weighing import UNKNOWN, WeightRow
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError, ModelError
from securefair.model.optimizer import OptimizerConfig
from securefair.protocol.flows import OFFER_BITS, REPLY_BITS
from securefair.protocol.jobs import Adapt
from securefair.worth import mixing
from support.agreements import agree
from support.simulated import start_gossip

NAMES = ("ann", "bea", "cem", "dan")
ASKER, ATTACKER = "ann", "bea"
DIGITS = 6
POWERS = 3.0 ** -np.arange(DIGITS)


@pytest.fixture(scope="module")
def agreement():
    return agree("cycle-gossip", NAMES, shape=40, kind="linear", sketch=0)


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


def read_from(weight, before, beta, alpha):
    """The similarity that a weight was made of, by the neighbour that is told it."""
    return 1 + math.log((weight - alpha * before) / (1 - alpha)) / beta


def normalised_by_the_old_rule(agreement, levels):
    """Weights as they were shown: of rows that had been normalised, for all senders of a sum."""
    similarities = np.array([1.0, *levels])
    graph = np.ones(len(similarities), dtype=bool)
    preferred = mixing.preferences(similarities, graph, beta=agreement.gossip.beta)
    before = np.full(len(similarities), 1 / len(similarities))
    return mixing.smooth(before, preferred, alpha=agreement.fairness.alpha)


def digits_of(value, factor):
    """The digits -1, 0 and 1 whose sum over 3^-i is nearest."""
    every = itertools.product((-1, 0, 1), repeat=DIGITS)
    return min(every, key=lambda s: abs(POWERS @ s - value / factor))


def test_weights_of_unrounded_cosines_tell_the_secret_key(agreement, student):
    """The vulnerable step: similarities go into the row as they were opened."""
    factor = 0.6
    cosine = student.open(crafted(agreement.alignment, factor * POWERS))
    row = WeightRow.start(agreement, ASKER)
    similarity = float(mixing.similarity(np.array([cosine]))[0])
    at, senders = NAMES.index(ATTACKER), tuple(sorted(set(NAMES) - {ASKER}))
    seen = row.weighed({ATTACKER: similarity}).told(senders)[ATTACKER] * len(senders)
    read = (
        2 * read_from(seen, row.unnormalised[at], agreement.gossip.beta, agreement.fairness.alpha)
        - 1
    )
    first = digits_of(read, factor)
    assert first == digits_of(cosine, factor)
    assert set(first) != {0}
    # They are the key's: answers that hold one number each open to the same.
    for digit, unit in zip(first, 0.9 * np.eye(DIGITS), strict=True):
        assert round(student.open(crafted(agreement.alignment, unit))) == digit


def test_weights_of_levels_tell_the_level_alone(agreement, student):
    row = WeightRow.start(agreement, ASKER)
    rows = {
        row.weighed({ATTACKER: row.similarity(cosine)}).weights.tobytes()
        for cosine in np.linspace(-1, 1, 3**DIGITS)
    }
    assert len(rows) == agreement.gossip.levels
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
    row = WeightRow.start(agreement, ASKER)
    seen = {row.similarity(float(coordinate)) for coordinate in direction}
    assert seen <= {
        level / (agreement.gossip.levels - 1) for level in range(agreement.gossip.levels)
    }
    assert len({float(coordinate) for coordinate in direction}) > 10 * len(seen)


SIX = ("ann", "bea", "cem", "dan", "eve", "fay")


@pytest.fixture(scope="module")
def six():
    return agree("cycle-gossip", SIX, kind="linear")


def outcomes(agreement, known):
    """Every way in which so many comparisons of one forced round may end."""
    values = np.linspace(0, 1, agreement.gossip.levels)
    return itertools.product(values, repeat=known)


def test_a_normalised_weight_tells_one_sender_the_levels_of_all_others(six):
    """The vulnerable step: 8.5 bits a round where 2.6 were charged, 6.1 where nothing was."""
    seen = {}
    for bea, *others in outcomes(six, 5):
        weight = normalised_by_the_old_rule(six, (bea, *others))[1]
        seen.setdefault(round(weight, 13), set()).add((bea, tuple(sorted(others))))
    assert len(seen) == 350
    assert all(len(levels) == 1 for levels in seen.values())  # its own, and everybody else's
    assert math.log2(len(seen)) > 8.4 > 3 * six.bits_per_alignment
    silent = {  # bea does not answer, and is charged nothing
        round(normalised_by_the_old_rule(six, (UNKNOWN, *others))[1], 13)
        for others in outcomes(six, 4)
    }
    assert math.log2(len(silent)) > 6.1


def test_ours_tells_it_its_own_level_and_nothing_if_it_does_not_answer(six):
    senders = SIX[1:]

    def told(levels, *before):
        row = WeightRow.start(six, "ann")
        for one in (*before, levels):
            row = row.weighed(one)
        return row.told(senders)["bea"]

    every = [dict(zip(senders, levels, strict=True)) for levels in outcomes(six, 5)]
    weights = {(one["bea"], told(one)) for one in every}
    assert len(weights) == len({weight for _, weight in weights}) == six.gossip.levels
    without = [{name: level for name, level in one.items() if name != "bea"} for one in every]
    assert len({told(one) for one in without}) == 1
    # After two rounds: its own two levels, for which it was charged twice.
    first = every[:: len(every) // 50]
    pairs = {(before["bea"], now["bea"], told(now, before)) for before in first for now in first}
    assert len({weight for *_, weight in pairs}) == len({pair[:2] for pair in pairs})


def test_ours_normalises_what_it_opened(six):
    """The same average as with normalised weights, without telling them."""
    rng, senders = np.random.default_rng(0), SIX[1:]
    row = WeightRow.start(six, "ann").weighed(dict.fromkeys(senders, 0.75) | {"bea": 1.0})
    models = dict(zip(SIX, rng.normal(size=(6, 10)), strict=True))
    total = sum(weight * models[name] for name, weight in row.told(senders).items())
    mixed = row.mixed(senders)
    average = mixed[row.own] * models["ann"] + row.scale(senders) * total
    np.testing.assert_allclose(average, mixed @ np.array([models[name] for name in SIX]))


@pytest.mark.parametrize(("max_share", "alignments"), [(None, 1), (0.5, 3)])
def test_whoever_is_shown_the_weights_of_others_is_charged_for_their_levels(max_share, alignments):
    """With a largest share all senders see all weights, or weights cut at those of others."""
    run = started(max_share=max_share, max_sums=0)
    list(run.rounds(2))
    machine = run.hosts[ASKER].machine
    account = machine.ledger.accounts[ATTACKER]
    bits = alignments * run.observer.agreement.bits_per_alignment + OFFER_BITS
    assert account.bits == pytest.approx(2 * bits)
    assert machine.settings.round_bits == pytest.approx(bits + REPLY_BITS)


def test_an_offer_is_charged_until_the_sums_are_spent():
    """The best aligned neighbour sets the scale of all offers: each tells a bit of all of them."""
    run = started(max_sums=2, beta=0.0, forced_every=100)  # equal weights: everybody shares
    list(run.rounds(5))
    account = run.hosts[ASKER].machine.ledger.accounts[ATTACKER]
    assert account.offers == 2
    assert account.bits == pytest.approx(2 * OFFER_BITS + run.observer.agreement.bits_per_alignment)


def pushed(sign, at, agreement):
    """A victim whose model an average has moved to the edge of the range in one coordinate."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (40, 4))
    labels = (sign * features[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(np.int64)
    samples = Samples(features, labels, 2)
    victim = GossipHost(
        ParticipantData(ASKER, samples, samples),
        agreement,
        OptimizerConfig(learning_rate=0.05),
        seed=0,
        backend="clear",
    )
    moved = victim.vector
    moved[at] = agreement.gossip.bound
    victim.train_states = victim.train_states.moved(torch.from_numpy(moved)[None])
    victim.begin(at)
    return victim


def test_a_missing_offer_tells_nothing_of_the_own_step():
    """As it was, one sign of a chosen coordinate of the gradient a round, and counted nowhere."""
    agreed = agree("cycle-gossip", NAMES, kind="linear", sketch=0, bound=1.0)
    told, ours = {}, {}
    for sign in (1, -1):
        told[sign], ours[sign] = [], []
        for at in range(agreed.stacked.length):
            victim = pushed(sign, at, agreed)
            stepped = victim._trained(victim.train_states, 1, clock=at)  # the vulnerable step
            try:
                check_vector(agreed.sum_plan, vector_of(stepped))
                told[sign].append(True)
            except ModelError:
                told[sign].append(False)
            before = victim.vector
            adapted = victim.run(Adapt(at, (), ()))
            ours[sign].append(set(adapted.probabilities.values()))
            if adapted.problem is not None:  # its owner is told, and its last model goes on
                np.testing.assert_array_equal(victim.vector, before)
    assert told[1] != told[-1]
    assert False in told[1]
    assert ours[1] == ours[-1] == [{1.0}] * agreed.stacked.length


def test_an_average_at_the_edge_leaves_room_for_a_step(monkeypatch):
    """Nobody is stopped for good by senders: an average is cut before the range ends."""

    def pushed_out(sums, plan, keys, gathering, closed, released):
        return np.full(plan.spec.parameters, plan.spec.bound)

    monkeypatch.setattr("securefair.collaboration.gossip.participant.open_sum", pushed_out)
    run = started(max_sums=0)
    for _ in run.rounds(3):
        victim = run.hosts[ASKER]
        np.testing.assert_allclose(
            victim.vector, (1 - MARGIN) * run.observer.agreement.gossip.bound
        )


def started(**changes):
    """Four participants that average small models, sums in the clear."""
    rng = np.random.default_rng(0)

    def drawn():
        labels = np.arange(20) % 2
        features = rng.normal(0.3 * (2 * labels[:, None] - 1), 0.3, (20, 4))
        return Samples(np.clip(features, -1, 1), labels, 2)

    settings = {"kind": "linear", "averaging": "clear", "forced_every": 1, "local_steps": 1}
    return start_gossip(
        "cycle-gossip",
        [ParticipantData(name, drawn(), drawn()) for name in NAMES],
        agree("cycle-gossip", NAMES, sketch=0, **(settings | changes)),
        OptimizerConfig(learning_rate=0.05),
        pretraining_epochs=1,
        seed=0,
        backend="clear",
    )


def test_a_new_key_follows_before_a_peer_could_be_told_more_than_its_bits():
    """So the trits that all weights ever told are of many keys, and too few of any of them."""
    run = started(key_bits=16.0, max_sums=0)
    asker = run.hosts[ASKER]
    epochs, told = [], {}
    for _ in run.rounds(12):
        introduction = run.hosts[ATTACKER].machine.memory.peers[ASKER].introduction
        epochs.append(introduction.key_epoch)
        told[epochs[-1]] = asker.machine.ledger.accounts[ATTACKER].bits
    totals = [0.0, *told.values()]
    assert max(after - before for before, after in itertools.pairwise(totals)) <= 16
    assert epochs == sorted(epochs)
    assert epochs[-1] == 5  # two alignments a key, with their offers, if one of them failed
    assert not run.problems
    total = asker.machine.ledger.accounts[ATTACKER].bits
    assert total == pytest.approx(12 * (asker.agreement.bits_per_alignment + OFFER_BITS))


def test_by_default_a_key_serves_for_31_rounds(agreement):
    assert agreement.encryption.key_bits == 64
    settings = agreement.machine_settings(ASKER)
    assert settings.key_rounds == 31
    assert settings.most_bits(31) == pytest.approx(31 * OFFER_BITS + 7 * (2 + 2.585), abs=0.01)


def test_a_key_that_one_alignment_could_spend_is_refused():
    with pytest.raises(ConfigError, match="key_bits"):
        started(key_bits=16.0, levels=2**20)
