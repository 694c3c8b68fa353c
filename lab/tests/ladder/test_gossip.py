"""Averages of models: reference algorithm = machines in the clear = machines with private sums.

The rungs, from the bottom:

1. The reference (Alg. 3 with `min_senders`) equals a run whose gradients are compared in the clear
   and whose models travel as float64, but for the rounding of gradients to integers.
2. A private run takes the same decisions as the clear one. Its averages are within the planned
   error of those that the same models would have given, in every round; its last models differ by
   that and by what slightly different weights make of them.
"""

from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest

from securefair.averaging import get_averaging
from securefair.collaboration.gossip import participant
from securefair.errors import BackendUnavailableError, DataError, SecureFairError
from securefair.model.optimizer import OptimizerConfig
from securefair.protocol.codec import kind_of
from securefair.sites.couriers.memory import Faults, Link
from securefair.sites.simulation.run import SimulatedRun
from securefair_lab.algorithms import NetworkPopulation
from securefair_lab.algorithms.cycle_gossip import CycleGossip
from support.agreements import agree
from support.simulated import lose, start_gossip

SEED = 4
OPTIMIZER = OptimizerConfig(learning_rate=0.05, momentum=0.9, weight_decay=0.001, clip_norm=5.0)
EPOCHS = 3
TOLERANCE = 1e-7  # the clear backend rounds gradients to integers as an encryption does


@pytest.fixture
def data(hospitals):
    return hospitals(4, 40)


def agreement_of(data, **changes):
    settings = {
        "shape": 32,
        "kind": "linear",
        "averaging": "masked",
        "beta": 5.0,
        "forced_every": 2,
        **asdict(OPTIMIZER),
        "local_epochs": EPOCHS,
        "local_steps": 2,
        "sketch": 0,
        "round_seconds": 60.0,
        "setup_seconds": 30.0,
        "seed": SEED,
    }
    return agree("cycle-gossip", data, **(settings | changes))


def start(data, agreement, *, backend="clear", **options):
    return start_gossip(
        "cycle-gossip",
        data,
        agreement,
        seed=SEED,
        backend=backend,
        **options,
    )


def models_of(run: SimulatedRun):
    return np.array([own.vector for own in run.hosts.values()])


@pytest.fixture
def errors_of_sums(monkeypatch):
    """A list that a run fills: the error of each sum, before it is divided by told weights."""

    def watched(run):
        errors, real, people = [], participant.open_sum, run.hosts

        def opened(sums, plan, keys, gathering, closed, released):
            total = real(sums, plan, keys, gathering, closed, released)
            if gathering.session == run.observer.agreement.digest:
                told = people[gathering.receiver].row.told(gathering.senders)
                exact = sum(
                    weight * participant.vector_of(people[name].rounds[gathering.round].adapted)
                    for name, weight in told.items()
                )
                errors.append(np.abs(total - exact).max())
            return total

        monkeypatch.setattr(participant, "open_sum", opened)
        return errors

    return watched


def reference(data, agreement, rounds):
    population = NetworkPopulation(
        participants=tuple(data),
        network=agreement.network,
        optimizer=OPTIMIZER,
        batch_size=None,
        double=True,
    )
    algorithm = CycleGossip(
        beta=agreement.gossip.beta,
        alpha=agreement.fairness.alpha,
        forced_every=agreement.fairness.forced_every,
        levels=agreement.gossip.levels,
        relative=agreement.gossip.relative,
        topology=agreement.gossip.edges or agreement.gossip.topology,
        weighting=agreement.gossip.weighting,
        min_senders=agreement.gossip.min_senders,
        max_share=agreement.gossip.max_share,
        local_epochs=agreement.training.local_steps,
        pretraining_epochs=EPOCHS,
    )
    state, records = algorithm.init(population, SEED), []
    for _ in range(rounds):
        state, record = algorithm.round(state, population)
        records.append(record)
    return records, state.train_states.vectors.numpy()


def numbers(matrix):
    return np.array(matrix, dtype=np.float64)


EDGES = (
    ("Cleveland", "Hungary"),
    ("Hungary", "Switzerland"),
    ("Switzerland", "Cleveland"),
    ("VA Long Beach", "Cleveland"),
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"relative": False},
        {"topology": "ring", "weighting": "metropolis"},
        {"edges": EDGES},
        {"min_senders": 3},
        {"max_share": 0.5},
        {"network": "mlp-32", "alpha": 0.25, "beta": 15.0},
    ],
    ids=str,
)
def test_the_reference_and_a_run_in_the_clear_are_the_same(data, changes):
    # A finer precision makes models travel as float64, and a short gradient is taken as it is.
    agreed = agreement_of(data, averaging="clear", precision=2.0**-40, **changes)
    run = start(data, agreed)
    records = list(run.rounds(4))
    expected, models = reference(data, agreed, 4)
    assert any(any(map(any, record.answered)) for record in records)
    for ours, theirs in zip(records, expected, strict=True):
        assert ours.answered == theirs.answered
        assert ours.forced == theirs.forced
        for field in ("reputation", "alignment"):
            mine, its = numbers(getattr(ours, field)), numbers(getattr(theirs, field))
            np.testing.assert_array_equal(np.isnan(mine), np.isnan(its) | np.eye(4, dtype=bool))
            np.testing.assert_allclose(mine[~np.isnan(mine)], its[~np.isnan(mine)], atol=TOLERANCE)
        np.testing.assert_allclose(ours.accuracy, theirs.accuracy, atol=1e-12)
    assert not run.problems
    np.testing.assert_allclose(models_of(run), models, atol=TOLERANCE)


def test_with_a_largest_share_everybody_asks_for_what_senders_grant(data, monkeypatch):
    asked = []

    def noted(plan, keys, gathering, weights):
        asked.append(weights)
        return ask(plan, keys, gathering, weights)

    agreed = agreement_of(data, max_share=0.5, beta=15.0, backend="clear")
    ask = agreed.sums.ask
    monkeypatch.setattr(agreed.sums, "ask", noted)
    run = start(data, agreed)
    assert len(list(run.rounds(4))) == 4
    assert not run.problems
    assert run.observer.lost == 0
    shares = [max(weights.values()) / sum(weights.values()) for weights in asked]
    assert max(shares) == pytest.approx(0.5)  # some were cut to it


@pytest.mark.parametrize("averaging", ["masked", "ckks"])
def test_private_and_clear_runs_decide_alike_and_end_within_the_planned_error(
    data, averaging, errors_of_sums
):
    clear = start(data, agreement_of(data, averaging="clear", precision=2.0**-20))
    agreed = agreement_of(data, averaging=averaging)
    private = start(data, agreed, backend="rns")
    errors = errors_of_sums(private)
    for ours, theirs in zip(private.rounds(4), clear.rounds(4), strict=True):
        assert ours.answered == theirs.answered
        assert ours.asked == theirs.asked
        assert ours.accuracy == theirs.accuracy
    assert private.observer.kept_own == clear.observer.kept_own
    assert not private.problems
    # A cosine moves a weight by beta (1 - alpha) / 2 of its error at most, and a weight every
    # coordinate by the spread of the models; then come the errors of the sums of all rounds.
    weight = 2 * agreed.gossip.beta * agreed.alignment.error_bound
    bound = 4 * (agreed.average_error_bound + 3 * weight * np.ptp(models_of(clear), axis=0).max())
    assert np.abs(models_of(private) - models_of(clear)).max() <= bound
    assert 0 < private.observer.max_sum_error <= agreed.average_error_bound
    assert 0 < max(errors) <= agreed.sum_plan.error_bound


@pytest.mark.slow
def test_crypten_sums_to_the_same(data):
    try:
        get_averaging("crypten")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    ring = {"topology": "ring"}  # two senders: three processes
    ours = start(data, agreement_of(data, averaging="crypten", **ring))
    clear = start(data, agreement_of(data, averaging="clear", **ring))
    for one, other in zip(ours.rounds(1), clear.rounds(1), strict=True):
        assert one.answered == other.answered
    assert np.abs(models_of(ours) - models_of(clear)).max() < 1e-5
    assert ours.observer.max_sum_error < 1e-12


def test_everyone_keeps_its_own_where_too_few_share(data):
    """On a path only the two in the middle have two neighbours, and these must both share."""
    names = [own.name for own in data]
    agreed = agreement_of(data, edges=tuple(pairwise(names)))
    run = start(data, agreed)
    for record in run.rounds(3):
        rows = np.sum(record.answered, axis=1)
        assert rows[0] == rows[3] == 0
        assert set(rows[1:3]) <= {0, 2}
    assert run.observer.kept_own >= 6


def test_parts_of_rounds_that_nobody_may_ask_for_any_more_are_forgotten(data):
    run = start(data, agreement_of(data, beta=0.0))
    list(run.rounds(4))
    for own in run.hosts.values():
        assert {number for _, number in own._shares.made} == {2, 3}


def is_share(message):
    """Whether a frame is an answer whose last field says that it is a part of a sum."""
    return kind_of(message) == "answer" and message.endswith(b"\xc3")


class TestFaults:
    @pytest.mark.parametrize("averaging", ["masked", "ckks"])
    def test_a_peer_with_an_unusable_key_is_refused_and_costs_nobody_else(self, data, averaging):
        """One that was found out in sums only would make the honest senders fail, not itself."""
        names = [own.name for own in data]
        agreed = agreement_of(data, averaging=averaging, beta=0.0)  # so that everyone shares
        run = start(data, agreed)
        bad = run.hosts[names[3]]
        low_order = bad._keys.public[:-32] + bytes(32)
        bad._keys = replace(bad._keys, public=low_order)
        (record,) = run.rounds(1)
        for own in range(3):
            assert record.answered[own] == [other not in (own, 3) for other in range(4)]
        assert not any(record.answered[3])
        assert sum("upload is unusable" in problem for problem in run.problems) == 3

    def test_a_network_that_loses_and_repeats_costs_time_only(self, data, errors_of_sums):
        faults = Faults(drop=0.08, duplicate=0.2, reorder=0.2, delay=0.2, spread=5.0)
        run = start(data, agreement_of(data), link=Link(latency=0.1, faults=faults))
        errors = errors_of_sums(run)
        records = list(run.rounds(8))
        assert len(records) == 8
        assert run.observer.lost == 0  # couriers repeat what was lost
        assert (
            run.observer.max_sum_error <= run.observer.agreement.average_error_bound
        )  # of what was averaged
        assert 0 < max(errors) <= run.observer.agreement.sum_plan.error_bound
        assert any(any(map(any, record.answered)) for record in records)

    def test_a_sum_goes_on_without_a_sender_whose_parts_never_arrive(self, data, errors_of_sums):
        names = [own.name for own in data]
        silent, receiver = names[2], names[0]
        agreed = agreement_of(data, forced_every=100, beta=0.0)  # so that everyone shares
        run = start(data, agreed)
        errors = errors_of_sums(run)
        kinds = []

        def lost(sender, to, message):
            kinds.append((sender, to, "share" if is_share(message) else kind_of(message)))
            return kinds[-1] == (silent, receiver, "share")

        lose(run, lost)
        (record,) = run.rounds(1)
        row = dict(zip(names, record.answered[0], strict=True))
        assert row == {names[0]: False, names[1]: True, silent: False, names[3]: True}
        assert run.observer.lost == 1
        assert run.observer.max_sum_error <= agreed.average_error_bound
        assert len(errors) == 4
        assert max(errors) <= agreed.sum_plan.error_bound
        # Both others contributed to two attempts, and gave one key away.
        for other in (names[1], names[3]):
            assert kinds.count((other, receiver, "share")) == 2
            assert kinds.count((other, receiver, "key")) == 1
        assert kinds.count((silent, receiver, "key")) == 0

    def test_two_left_out_of_three_senders_are_too_few(self, data):
        names = [own.name for own in data]
        run = start(data, agreement_of(data, forced_every=100, beta=0.0, min_senders=3))
        lose(run, lambda own, to, said: (own, to) == (names[2], names[0]) and is_share(said))
        (record,) = run.rounds(1)
        assert not any(record.answered[0])
        assert all(sum(row) == 3 for row in record.answered[1:])


class TestBadInput:
    def test_a_model_beyond_the_bound_stops_the_run_before_anything_of_it_is_sent(self, data):
        run = start(data, agreement_of(data, bound=0.01))
        with pytest.raises(SecureFairError, match="exceeds the planned range"):
            list(run.rounds(1))
        kinds = {row.message for row in run.traffic}
        assert "reveal" not in kinds
        assert "offer" not in kinds

    def test_a_model_that_diverges_stops_the_run(self, data):
        wild = agreement_of(data, local_epochs=0, learning_rate=1e200, clip_norm=1e300)
        run = start(data, wild)
        with pytest.raises(SecureFairError, match=r"round [01]"):
            list(run.rounds(2))

    def test_another_shape_is_refused_before_anything_runs(self, data):
        with pytest.raises(DataError, match="Cleveland"):
            start(data, agreement_of(data, shape=(31,)))
        with pytest.raises(DataError, match="3 classes"):
            start(data, agreement_of(data, classes=3))
