"""Collaborations over a network that loses, delays and repeats, and with faulty participants."""

import numpy as np
import pytest

from securefair.collaboration.distillation.host import DistillingHost
from securefair.config import DisclosureSection
from securefair.errors import ModelError, SecureFairError
from securefair.model.optimizer import OptimizerConfig
from securefair.model.training import TrainState
from securefair.protocol.jobs import AnswerAsk, Answered, Prepared, PrepareKeysAndFeatures
from securefair.protocol.messages import Features
from securefair.sites.couriers.memory import Faults, Link
from support.agreements import agree
from support.populations import overlapping
from support.simulated import limited, on_backend, run_of, start_run

ROUND_SECONDS, SETUP_SECONDS = 60.0, 30.0
ROUNDS = 5
UNLIMITED = DisclosureSection(fraction=None)


NAMES = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")


@pytest.fixture
def data():
    """Few patients of four features: what is lost, late or damaged does not depend on them."""
    return [overlapping(name, at) for at, name in enumerate(NAMES)]


def collaboration_of(data, **changes):
    settings = {
        "kind": "linear",
        "local_epochs": 10,
        "q": 16,
        "precision": 2.0**-18,
        "forced_every": 2,
        "local_steps": 2,
        "round_seconds": ROUND_SECONDS,
        "setup_seconds": SETUP_SECONDS,
    }
    samples = max(len(own.train) for own in data)
    return agree("cycle", data, shape=4, samples=samples, **(settings | changes))


def run_over(data, seed=1, **network):
    return start_run(
        "cycle",
        data,
        collaboration_of(data),
        seed=seed,
        backend="clear",
        disclosure=UNLIMITED,
        **network,
    )


def honest(own, collaboration, kind=DistillingHost):
    return kind(own, on_backend(limited(collaboration, UNLIMITED), "clear"), seed=1)


def among(records, names, field, who):
    """The entries of a matrix between the given participants only, all rounds."""
    at = [names.index(name) for name in who]
    return [[[getattr(r, field)[n][k] for k in at if k != n] for n in at] for r in records]


class TestNetwork:
    FAULTS = (
        Faults(drop=0.1),
        Faults(duplicate=0.5, spread=20.0),
        Faults(delay=0.5, spread=40.0),
        Faults(reorder=0.5, spread=40.0),
        Faults(drop=0.1, duplicate=0.2, delay=0.2, reorder=0.2, spread=100.0),
    )

    @pytest.mark.parametrize("faults", FAULTS, ids=str)
    def test_every_round_ends_and_nobody_is_blamed(self, faults, data):
        run = run_over(data, link=Link(latency=0.1, bandwidth=1e6, faults=faults))
        records = list(run.rounds(ROUNDS))
        assert len(records) == ROUNDS
        assert run.problems == []
        # Faults cost time, and exchanges where there is too little of it.
        assert sum(np.sum(record.answered) for record in records) > ROUNDS
        assert run.town.courier.now <= SETUP_SECONDS + 2 * ROUNDS * ROUND_SECONDS

    def test_equal_seeds_meet_equal_faults(self, data):
        link = Link(faults=self.FAULTS[-1])
        once = list(run_over(data, link=link).rounds(3))
        again = list(run_over(data, link=link).rounds(3))
        other = list(run_over(data, seed=2, link=link).rounds(3))
        assert once == again
        assert [r.answered for r in once] != [r.answered for r in other]

    def test_delays_within_the_deadline_change_no_record(self, data):
        instant = list(run_over(data).rounds(ROUNDS))
        slow = Link(latency=1.0, faults=Faults(duplicate=0.5, delay=0.5, spread=5.0))
        assert list(run_over(data, link=slow).rounds(ROUNDS)) == instant

    def test_answers_after_the_deadline_are_not_used(self, data):
        names = [own.name for own in data]
        late = {(names[0], other): Link(latency=2 * ROUND_SECONDS) for other in names[1:]}
        run = run_over(data, links=late)
        records = list(run.rounds(ROUNDS))
        assert run.problems == []
        for record in records:
            for n in (1, 2, 3):
                assert not record.answered[n][0]
                assert record.reputation[n][0] is None
        assert all(any(row) for row in among(records, names, "answered", names[1:])[0])

    def test_a_lost_participant_does_not_stop_the_others(self, data):
        names = [own.name for own in data]
        lost, others = names[1], [names[0], *names[2:]]
        broken = Link(faults=Faults(drop=1.0))
        links = {pair: broken for other in others for pair in ((lost, other), (other, lost))}
        run = run_over(data, links=links)
        records = list(run.rounds(ROUNDS))
        assert run.problems == []
        assert all(all(row) for row in among(records[:1], names, "answered", others)[0])
        for record in records:
            assert not any(record.answered[1])
            assert not any(row[1] for row in record.answered)
        assert records[-1].cross_entropy[1] < records[0].cross_entropy[1]  # it learns alone
        # Whoever waits for the lost one waits until the deadline, and not longer.
        assert run.town.courier.now <= SETUP_SECONDS + 2 * ROUNDS * ROUND_SECONDS
        assert run.town.courier.now >= SETUP_SECONDS + ROUND_SECONDS

    def test_a_participant_that_is_cut_off_later_and_comes_back(self, data):
        agreed = collaboration_of(data)
        names = list(agreed.participants)
        run = run_of([honest(own, agreed) for own in data], agreed)
        carried, held, cut = run.town.courier.send, [], [""]

        def send(*parcel):
            held.append(parcel) if cut[0] in parcel[:2] else carried(*parcel)

        run.town.courier.send = send
        before = run.town.play(0)
        cut[0] = names[2]
        during = run.town.play(1), run.town.play(2)
        cut[0] = ""
        for parcel in held:
            carried(*parcel)
        after = run.town.play(3), run.town.play(4)
        assert set(before[names[2]].opened) == set(names) - {names[2]}
        assert not any(ends[names[2]].opened for ends in during)
        assert set(during[1][names[0]].opened) == {names[1], names[3]}  # forced
        assert during[1][names[0]].reputations[names[2]] is not None  # carries over
        assert set(after[1][names[2]].opened) == set(names) - {names[2]}  # forced again
        assert run.problems == []


class TestParticipants:
    @pytest.mark.parametrize(
        "change", [{"temperature": 4.0}, {"forced_every": 3}, {"seed": 9}, {"lambda_0": 1.0}]
    )
    def test_other_public_constants_are_refused_by_name(self, change, data):
        agreed, own_idea = collaboration_of(data), collaboration_of(data, **change)
        names = list(agreed.participants)
        participants = [honest(own, agreed) for own in data]
        participants[3] = honest(data[3], own_idea)
        run = run_of(participants, agreed)
        records = list(run.rounds(3))
        for other in names[:3]:
            (problem,) = [p for p in run.problems if p.startswith(f"{other} blames {names[3]}")]
            assert f"peer {names[3]}: its public constants differ" in problem
            assert "compare its configuration with yours" in problem
        for record in records:
            assert not any(record.answered[3])
            assert not any(row[3] for row in record.answered)
        assert all(all(row) for row in among(records[:1], names, "answered", names[:3])[0])

    def test_another_plan_is_refused_too(self, data):
        agreed = collaboration_of(data)
        participants = [honest(own, agreed) for own in data]
        participants[0] = honest(data[0], collaboration_of(data, q=12))
        run = run_of(participants, agreed)
        (record,) = run.rounds(1)
        assert not any(record.answered[0])
        assert sum("public constants differ" in problem for problem in run.problems) == 6

    @pytest.mark.parametrize(
        "damage", [lambda b: b[:-8], lambda b: b[: len(b) // 2], lambda _: b"x"]
    )
    def test_a_damaged_upload_is_refused_and_the_others_go_on(self, damage, data):
        class Damaged(DistillingHost):
            def run(self, job):
                result = super().run(job)
                if isinstance(job, PrepareKeysAndFeatures):
                    features = result.features
                    payload = damage(features.payload)
                    return Prepared(result.keys, Features(0, features.samples, payload, b""))
                return result

        agreed = collaboration_of(data)
        names = list(agreed.participants)
        participants = [honest(own, agreed) for own in data]
        participants[1] = honest(data[1], agreed, kind=Damaged)
        run = run_of(participants, agreed)
        records = list(run.rounds(3))
        for other in (names[0], names[2], names[3]):
            assert any(
                p.startswith(f"{other} blames {names[1]}: ") and "its upload is unusable" in p
                for p in run.problems
            )
        assert not any(any(record.answered[1]) for record in records)
        others = [names[0], *names[2:]]
        assert all(all(row) for row in among(records[:1], names, "answered", others)[0])

    def test_more_samples_than_agreed_are_refused(self, data):
        """A student may not make a teacher work for more than the plan provides."""

        class Greedy(DistillingHost):
            def run(self, job):
                result = super().run(job)
                if isinstance(job, PrepareKeysAndFeatures):
                    features = result.features
                    return Prepared(result.keys, Features(0, 10_000, features.payload, b""))
                return result

        agreed = collaboration_of(data)
        participants = [honest(own, agreed) for own in data]
        participants[2] = honest(data[2], agreed, kind=Greedy)
        run = run_of(participants, agreed)
        (record,) = run.rounds(1)
        assert not any(record.answered[2])
        assert sum("more samples than agreed" in problem for problem in run.problems) >= 3

    @pytest.mark.parametrize("damage", [lambda b: b[:-8], lambda b: b + bytes(8), lambda _: b""])
    def test_a_damaged_answer_is_blamed_and_does_without(self, damage, data):
        class Damaged(DistillingHost):
            def run(self, job):
                result = super().run(job)
                return Answered(damage(result.payload)) if isinstance(job, AnswerAsk) else result

        agreed = collaboration_of(data)
        names = list(agreed.participants)
        participants = [honest(own, agreed) for own in data]
        participants[3] = honest(data[3], agreed, kind=Damaged)
        run = run_of(participants, agreed)
        records = list(run.rounds(3))
        assert any(p.startswith(f"{names[0]} blames {names[3]}: ") for p in run.problems)
        for record in records:
            assert not any(row[3] for row in record.answered)
            assert record.reputation[0][3] is None
            assert record.reputation[0][1] is not None
        assert all(all(row) for row in among(records[:1], names, "answered", names[:3])[0])

    def test_a_step_that_diverges_ends_the_run_with_its_name_and_round(self, data):
        run = run_over(data)
        wild = run.hosts["Hungary"]
        settings = OptimizerConfig(learning_rate=1e300, clip_norm=None)
        wild.train_state = TrainState.start(wild.train_state.model, settings)
        with pytest.raises(SecureFairError, match=r"^Hungary, round \d: .*he training diverged"):
            list(run.rounds(3))

    def test_diverging_alone_is_noticed_before_any_exchange(self, data):
        wild = collaboration_of(data, learning_rate=1e300, clip_norm=1e300)
        with pytest.raises(ModelError, match="the training diverged"):
            start_run("cycle", data, wild, seed=1, backend="clear")

    def test_a_model_beyond_the_public_bounds_declines_and_the_rounds_go_on(self, data):
        """Weights that the agreed scales cannot hold are the teacher's problem, not the run's."""
        agreed = collaboration_of(data)
        names = list(agreed.participants)
        run = run_of([honest(own, agreed) for own in data], agreed)
        model = run.hosts[names[0]].train_state.model
        model.output_weights.data.mul_(1e4)
        records = list(run.rounds(2))
        assert not any(row[0] for row in records[0].answered)
        assert records[0].answered[1] == [False, False, True, True]
        assert any(p.startswith(f"{names[0]}: ") and "weight" in p for p in run.problems)
        assert np.isfinite(records[-1].cross_entropy).all()
