"""What a student does with opened logits, against its definitions."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, kl_div, log_softmax

from securefair.data.dataset import Samples
from securefair.exchange import learning
from securefair.model.heads import build_head
from securefair.model.optimizer import OptimizerConfig
from securefair.model.training import TeacherAnswer, TrainState, distil_steps

CLASSES, FEATURES, SAMPLES = 3, 4, 30


class TestDistillation:
    def setup_method(self):
        rng = np.random.default_rng(4)
        features = rng.uniform(-1, 1, (SAMPLES, FEATURES))
        self.samples = Samples(features, rng.integers(0, CLASSES, SAMPLES), CLASSES)
        self.student = build_head("quadratic", FEATURES, 5, CLASSES, seed=5)
        self.teacher = build_head("linear", FEATURES, 0, CLASSES, seed=6)
        self.z = self.teacher.logits(self.samples.features)

    def exact_kl(self, logits, temperature):
        return kl_div(
            log_softmax(torch.from_numpy(self.z) / temperature, dim=1),
            log_softmax(logits / temperature, dim=1),
            reduction="batchmean",
            log_target=True,
        )

    def test_predictions_are_softmax_at_the_temperature(self):
        p = learning.predictions(self.student, self.samples, 5.0)
        u = self.student.logits(self.samples.features) / 5.0
        np.testing.assert_allclose(p, np.exp(u) / np.exp(u).sum(axis=1, keepdims=True))

    def test_the_loss_is_exact_kl_without_what_the_student_cannot_change(self):
        u = torch.from_numpy(self.student.logits(self.samples.features))
        dropped = torch.logsumexp(torch.from_numpy(self.z) / 5.0, dim=1).mean()
        expected = float(self.exact_kl(u, 5.0) - dropped)
        found = learning.distillation_loss(self.student, self.samples, self.z, 5.0)
        assert found == pytest.approx(expected, abs=1e-12)

    def test_alignment_is_the_cosine_of_exact_gradients(self):
        logits = self.student(torch.from_numpy(self.samples.features))
        labels = torch.from_numpy(self.samples.labels)

        def gradient(loss):
            parts = torch.autograd.grad(loss, list(self.student.parameters()), retain_graph=True)
            return torch.cat([part.flatten() for part in parts])

        a, b = gradient(cross_entropy(logits, labels)), gradient(self.exact_kl(logits, 5.0))
        expected = float(a @ b / (a.norm() * b.norm()))
        found = learning.align(self.student, self.samples, self.z, 5.0)
        assert found == pytest.approx(expected, abs=1e-9)

    def test_a_teacher_that_knows_the_labels_aligns_and_one_that_swaps_them_opposes(self):
        right = 8.0 * np.eye(CLASSES)[self.samples.labels]
        wrong = 8.0 * np.eye(CLASSES)[(self.samples.labels + 1) % CLASSES]
        aligned = learning.align(self.student, self.samples, right, 5.0)
        assert aligned > 0.8
        assert learning.align(self.student, self.samples, wrong, 5.0) < aligned - 0.5

    def test_learning_weighs_each_teacher_by_its_reputation(self):
        other = -self.z[:, ::-1].copy()

        def learned(function):
            head = build_head("quadratic", FEATURES, 5, CLASSES, seed=5)
            train_state = TrainState.start(head, OptimizerConfig())
            function(train_state)
            return head.logits(self.samples.features)

        found = learned(
            lambda train_state: learning.learn(
                train_state,
                self.samples,
                {"k": self.z, "m": other},
                {"k": 0.5, "m": 1.0},
                participants=5,
                lambda_0=8.0,
                steps=3,
                temperature=5.0,
            )
        )
        weighed = [TeacherAnswer(self.z, 8 * 0.5 / 4), TeacherAnswer(other, 8 * 1.0 / 4)]
        expected = learned(
            lambda train_state: distil_steps(train_state, self.samples, weighed, 3, temperature=5.0)
        )
        np.testing.assert_array_equal(found, expected)
