"""A participant carries out jobs; these tests play its machine and its peers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from securefair.collaboration.distillation.host import DistillingHost
from securefair.collaboration.notes import KEPT_ROUNDS
from securefair.config import DisclosureSection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import (
    ConfigError,
    DataError,
    ImplausibleError,
    LocalProtocolError,
    PlanError,
    RemoteProtocolError,
)
from securefair.exchange import learning
from securefair.model.heads import build_head
from securefair.model.prevalence import own_prevalence
from securefair.model.training import evaluate, train_epochs
from securefair.privacy import Patients, PrivacyTarget, PrivateAlignments, SeededNoise
from securefair.protocol.jobs import (
    AnswerAsk,
    ImportPeer,
    OpenAnswer,
    PrepareAsk,
    PrepareKeysAndFeatures,
    Step,
)
from support.agreements import agree


def agreed_on(hospitals, **changes):
    algorithm = "vpdl" if changes.pop("always_share", False) else "cycle"
    settings = {
        "kind": "linear",
        "local_epochs": 5,
        "release": "logits",
        "q": 6,
        "local_steps": 3,
        "backend": "clear",
    } | changes
    samples = max(len(own.train) for own in hospitals)
    return agree(algorithm, hospitals, samples=samples, **settings)


def participant(own, agreed, seed=1):
    return DistillingHost(own, agreed, seed=seed)


def unrelated_to_features(student):
    """An answer in the clear that no smooth function explains: one patient's logits are large."""
    plan = student._student.plan
    (meta,) = plan.released
    logits = np.zeros((meta.count, plan.coefficients or meta.width))
    logits[:, 3] = [-30.0, 30.0]
    return logits.astype("<f8").tobytes()


@pytest.fixture
def pair(hospitals):
    """Two participants of whom the second has imported the first's upload, in round 0."""

    def make(**changes):
        agreed = agreed_on(hospitals, **changes)
        student, teacher = (participant(own, agreed) for own in hospitals[:2])
        for one in (student, teacher):
            one.train_alone()
            one.begin(0)
        prepared = student.run(PrepareKeysAndFeatures())
        teacher.run(ImportPeer(student.name, prepared.keys, prepared.features))
        return student, teacher

    return make


class NoNoise(SeededNoise):
    def gaussian_around(self, values, scale, *, coarse=False):
        return super().gaussian_around(values, 0.0 * scale, coarse=coarse)


def constant(odds):
    """A head that says the same of everybody."""
    head = build_head("linear", 4, 0, 2, 0)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        head.output_bias[1] = odds
    return head


def ask(student, teacher, round=0, predictions=b""):
    return teacher.run(AnswerAsk(student.name, round, 0, predictions)).payload


def parameters(own):
    return np.concatenate([p.detach().numpy().ravel() for p in own.train_state.model.parameters()])


class TestConstruction:
    def test_equal_seeds_start_alike_and_others_do_not(self, hospitals):
        agreed = agreed_on(hospitals)
        one, same = participant(hospitals[0], agreed), participant(hospitals[0], agreed)
        other = participant(hospitals[0], agreed, seed=2)
        np.testing.assert_array_equal(parameters(one), parameters(same))
        assert not np.array_equal(parameters(one), parameters(other))

    def test_two_participants_of_one_seed_start_differently(self, hospitals):
        agreed = agreed_on(hospitals)
        one, other = (participant(own, agreed) for own in hospitals[:2])
        assert not np.array_equal(parameters(one), parameters(other))

    def test_the_machine_knows_its_peers_and_the_size_of_the_model(self, hospitals):
        one = participant(hospitals[1], agreed_on(hospitals))
        assert one.machine.name == "b"
        assert list(one.machine.reputations) == ["a", "c"]
        assert one.machine.settings.disclosure.teacher_parameters == 4 * 2 + 2

    def test_it_owns_its_disclosure_limits(self, hospitals):
        limits = DisclosureSection(fraction=None, teacher_total=7)
        one = participant(hospitals[0], replace(agreed_on(hospitals), disclosure=limits))
        assert one.machine.settings.disclosure.fraction_per_version is None
        assert one.machine.settings.disclosure.teacher_total == 7

    def test_more_samples_than_agreed_are_refused(self, hospitals, make_hospital):
        agreed = agreed_on(hospitals)
        with pytest.raises(ConfigError, match="more samples than agreed"):
            participant(make_hospital("a", train=60), agreed)

    def test_too_few_samples_for_the_projection_are_refused(self, hospitals, make_hospital):
        agreed = agreed_on(hospitals, release="projection")
        with pytest.raises(PlanError, match=r"^q: .*fewer than the student's 6 samples"):
            participant(make_hospital("a", train=6), agreed)

    def test_training_alone_is_reproducible_and_teaches(self, hospitals):
        agreed = agreed_on(hospitals, kind="quadratic", hidden=3)
        one, same = (participant(hospitals[0], agreed) for _ in range(2))
        before = evaluate(one.train_state.model, one.data.train).cross_entropy
        one.train_alone()
        same.train_alone()
        np.testing.assert_array_equal(parameters(one), parameters(same))
        assert evaluate(one.train_state.model, one.data.train).cross_entropy < before


class TestUpload:
    def test_sizes_are_the_plans(self, hospitals):
        one = participant(hospitals[0], agreed_on(hospitals))
        prepared = one.run(PrepareKeysAndFeatures())
        assert prepared.features.samples == len(hospitals[0].train)
        assert prepared.features.basis == b""
        assert prepared.features.data_epoch == prepared.keys.key_epoch == 0

    def test_features_beyond_the_bound_are_refused(self, hospitals):
        own = hospitals[0]
        stretched = Samples(3 * own.train.features, own.train.labels, 2)
        one = participant(ParticipantData("a", stretched, own.test), agreed_on(hospitals))
        with pytest.raises(DataError, match=r"^feature: features exceed the agreed bound"):
            one.run(PrepareKeysAndFeatures())

    def test_a_teacher_refuses_a_claim_of_more_samples(self, hospitals):
        agreed = agreed_on(hospitals)
        student, teacher = (participant(own, agreed) for own in hospitals[:2])
        prepared = student.run(PrepareKeysAndFeatures())
        features = type(prepared.features)(0, 1000, prepared.features.payload, b"")
        with pytest.raises(ConfigError, match="more samples than agreed"):
            teacher.run(ImportPeer("a", prepared.keys, features))


class TestAnswer:
    def test_it_is_the_rounded_models_logits(self, pair):
        student, teacher = pair(prevalence="teacher")
        student.run(OpenAnswer("b", 0, ask(student, teacher), False, None))
        found = student.rounds[0].opened["b"].logits
        exact = teacher.train_state.model.logits(student.data.train.features)
        assert 0 < np.abs(found - exact).max() < 0.02

    def test_it_comes_from_the_model_of_the_beginning_of_its_round(self, pair):
        student, teacher = pair()
        before = ask(student, teacher)
        train_epochs(teacher.train_state, teacher.data.train, 5)
        assert ask(student, teacher) == before
        teacher.begin(1)
        assert ask(student, teacher, round=0) == before  # still owed
        assert ask(student, teacher, round=1) != before

    def test_old_rounds_are_forgotten(self, pair):
        student, teacher = pair()
        for number in range(1, KEPT_ROUNDS + 1):
            teacher.begin(number)
        assert sorted(teacher.rounds) == list(range(1, KEPT_ROUNDS + 1))
        with pytest.raises(LocalProtocolError, match="no longer kept"):
            ask(student, teacher, round=0)

    def test_how_long_it_took_is_noted_at_both_ends(self, pair):
        student, teacher = pair()
        student.run(OpenAnswer("b", 0, ask(student, teacher), False, None))
        assert teacher.rounds[0].teacher_seconds["a"] > 0
        assert student.rounds[0].student_seconds["b"] > 0
        assert teacher.rounds[0].student_seconds == {}


class TestOpening:
    def test_a_scored_answer_forms_an_reputation_from_the_alignment(self, pair):
        student, teacher = pair()
        payload = ask(student, teacher)
        first = student.run(OpenAnswer("b", 0, payload, True, None)).reputation
        notes = student.rounds[0]
        expected = learning.align(notes.snapshot, student.data.train, notes.opened["b"].logits, 5.0)
        assert notes.alignment == {"b": expected}
        rule = student.collaboration.rule
        assert first == rule.score(expected)
        again = student.run(OpenAnswer("b", 0, payload, True, 0.2)).reputation
        assert again == rule.update(0.2, expected)

    def test_answers_are_moved_to_the_own_prevalence(self, pair):
        logits = {}
        for prevalence in ("own", "teacher"):
            student, teacher = pair(prevalence=prevalence)
            student.run(OpenAnswer("b", 0, ask(student, teacher), False, None))
            logits[prevalence] = student.rounds[0].opened["b"].logits
        labels = student.data.train.labels
        np.testing.assert_allclose(logits["own"], own_prevalence(logits["teacher"], labels))
        assert np.abs(logits["own"] - logits["teacher"]).max() > 1e-3

    def test_one_label_moves_a_private_alignment_by_one_vote(self, make_hospital, hospitals):
        """With everything at its default, that is with answers moved to the own prevalence."""
        own, other = make_hospital("a", train=40), hospitals[1]
        means = []
        for ill in (32, 31):
            labels = (np.arange(40) < ill).astype(np.int64)
            student = replace(own, train=replace(own.train, labels=labels))
            agreed = agreed_on([student, other])
            # The model's odds lie between those of 32 and of 31: prevalence would turn all votes.
            model = constant(np.log(31.95 / 8.95))
            alignments = PrivateAlignments(
                model,
                student.train,
                Patients.one_row_each(40),
                PrivacyTarget(epsilon=1.0, delta=1e-2),
                peers=1,
                temperature=5.0,
                noise=lambda _peer: NoNoise(0),
            )
            one = DistillingHost(student, agreed, seed=1, alignments=alignments)
            teacher = participant(other, agreed)
            with torch.no_grad():
                for ours, given in zip(
                    teacher.train_state.model.parameters(),
                    constant(3.0).parameters(),
                    strict=True,
                ):
                    ours.copy_(given)
            for each in (one, teacher):
                each.begin(0)
            prepared = one.run(PrepareKeysAndFeatures())
            teacher.run(ImportPeer("a", prepared.keys, prepared.features))
            one.run(OpenAnswer("b", 0, ask(one, teacher), True, None))
            means.append(one.rounds[0].alignment["b"])
        assert 0 < abs(means[0] - means[1]) <= 2 / 40 + 1e-9  # one vote, from 1 to -1

    def test_an_implausible_answer_is_refused(self, pair):
        student, _ = pair()
        payload = unrelated_to_features(student)
        with pytest.raises(ImplausibleError, match="no smooth function") as refused:
            student.run(OpenAnswer("b", 0, payload, True, None))
        assert refused.value.culprit == "b"
        assert student.rounds[0].opened == {}

    def test_where_alignments_are_private_it_has_its_vote_and_teaches_nothing(self, make_hospital):
        """Refusing it in a forced round would tell of all patients, at no stated cost."""
        own, other = make_hospital("a", train=40), make_hospital("b", train=40)
        alignments = PrivateAlignments(
            constant(0.5),
            own.train,
            Patients.one_row_each(40),
            PrivacyTarget(epsilon=1.0, delta=1e-2),
            peers=1,
            temperature=5.0,
            noise=lambda _peer: NoNoise(0),
        )
        agreed = agreed_on([own, other])
        student = DistillingHost(own, agreed, seed=1, alignments=alignments)
        student.begin(0)
        student.run(PrepareKeysAndFeatures())
        payload = unrelated_to_features(student)
        result = student.run(OpenAnswer("b", 0, payload, True, None))
        rule = student.collaboration.rule
        assert result.reputation == rule.score(student.rounds[0].alignment["b"])
        assert result.doubtful  # which its own operator is told
        alone = student.train_state.copy()
        student.run(Step(0, ("b",), (1.0,)))
        train_epochs(alone, student.data.train, 3)
        for ours, theirs in zip(
            student.train_state.model.parameters(), alone.model.parameters(), strict=True
        ):
            torch.testing.assert_close(ours, theirs)
        with pytest.raises(RemoteProtocolError):  # in a round left to chance nothing depends on it
            student.run(OpenAnswer("b", 0, payload, False, 0.5))

    def test_an_unscored_answer_leaves_reputations_alone(self, pair):
        student, teacher = pair()
        result = student.run(OpenAnswer("b", 0, ask(student, teacher), False, 0.3))
        assert result.reputation is None
        assert student.rounds[0].alignment == {}
        assert "b" in student.rounds[0].distillation_loss

    @pytest.mark.parametrize("release", ["loss", "class_sums"])
    def test_releases_that_only_monitor_teach_nothing(self, release, pair):
        student, teacher = pair(release=release, always_share=True)
        predictions = student.run(PrepareAsk(0, 0, ("teacher",))).payloads["teacher"]
        payload = ask(student, teacher, predictions=predictions)
        assert student.run(OpenAnswer("b", 0, payload, False, 1.0)).reputation is None
        opened = student.rounds[0].opened["b"]
        p = learning.predictions(student.rounds[0].snapshot, student.data.train, 5.0)
        z = teacher.train_state.model.logits(student.data.train.features)
        by_class = (p * z).sum(axis=0) / 5.0
        expected = by_class if release == "class_sums" else by_class.sum()
        np.testing.assert_allclose(opened.released, expected, atol=0.05)
        alone = student.train_state.copy()
        student.run(Step(0, ("b",), (1.0,)))
        train_epochs(alone, student.data.train, 3)
        np.testing.assert_array_equal(
            student.train_state.model.logits(student.data.test.features),
            alone.model.logits(student.data.test.features),
        )

    def test_an_answer_to_nothing_is_refused(self, pair):
        student, _ = pair()
        with pytest.raises(LocalProtocolError, match="no longer kept"):
            student.run(OpenAnswer("b", 7, b"", True, None))


class TestStep:
    def test_without_answers_it_is_training_alone(self, pair):
        student, _ = pair()
        alone = student.train_state.copy()
        student.run(Step(0, (), ()))
        train_epochs(alone, student.data.train, 3)
        np.testing.assert_array_equal(
            parameters(student),
            np.concatenate([p.detach().numpy().ravel() for p in alone.model.parameters()]),
        )

    def test_a_reputation_of_zero_has_no_weight(self, pair):
        student, teacher = pair()
        student.run(OpenAnswer("b", 0, ask(student, teacher), True, None))
        alone = student.train_state.copy()
        student.run(Step(0, ("b",), (0.0,)))
        train_epochs(alone, student.data.train, 3)
        np.testing.assert_array_equal(
            student.train_state.model.logits(student.data.test.features),
            alone.model.logits(student.data.test.features),
        )

    def test_a_reputation_pulls_towards_the_teacher(self, pair):
        student, teacher = pair()
        student.run(OpenAnswer("b", 0, ask(student, teacher), True, None))
        x, z = student.data.train, student.rounds[0].opened["b"].logits
        before = learning.distillation_loss(student.train_state.model, x, z, 5.0)
        student.run(Step(0, ("b",), (1.0,)))
        assert learning.distillation_loss(student.train_state.model, x, z, 5.0) < before

    def test_all_answers_of_the_round_come_from_the_snapshot(self, pair):
        student, _ = pair()
        before = parameters(student)
        student.run(Step(0, (), ()))
        snapshot = student.rounds[0].snapshot
        kept = np.concatenate([p.detach().numpy().ravel() for p in snapshot.parameters()])
        np.testing.assert_array_equal(kept, before)
        assert not np.array_equal(parameters(student), before)


def test_training_alone_takes_the_agreed_epochs(hospitals):
    short, long = (participant(hospitals[0], agreed_on(hospitals, local_epochs=n)) for n in (0, 9))
    short.train_alone()
    long.train_alone()
    assert evaluate(long.train_state.model, long.data.train).cross_entropy < (
        evaluate(short.train_state.model, short.data.train).cross_entropy
    )
