"""Why answers are sanitised: without it, linear algebra returns the teacher's weights.

Adversary: a curious student. It knows its secret key, everything it encrypted, and the masks a_i
that its seeds expand to. Protected: the teacher's weights, by fresh encryptions of zero on every
mask. Still disclosed by a sanitised answer: the released numbers.
"""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from securefair.circuit.network import network_logits
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.backends.arrivals import expanded
from securefair.exchange import steps
from securefair.model.heads import build_head

FEATURES, CLASSES, SAMPLES = 4, 2, 64


def solve_mod(matrix, right, prime):
    """Gaussian elimination: x with matrix @ x = right mod prime, for a regular square matrix."""
    n = len(matrix)
    rows = [[int(v) for v in row] + [int(r)] for row, r in zip(matrix, right, strict=True)]
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        inverse = pow(rows[column][column], -1, prime)
        rows[column] = [v * inverse % prime for v in rows[column]]
        for r in range(n):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [
                    (a - factor * b) % prime for a, b in zip(rows[r], rows[column], strict=True)
                ]
    solution = [row[n] for row in rows]
    return [v - prime if v > prime // 2 else v for v in solution]


class Exchange:
    """A student's upload at a teacher, and the residues that the student will see."""

    def __init__(self, hidden):
        spec = ExchangeSpec(
            features=FEATURES, classes=CLASSES, samples=SAMPLES, hidden=hidden, release="logits"
        )
        self.plan = plan_exchange(spec, coefficients=False)
        backend = get_backend("rns")
        keys = backend.generate_keys(
            self.plan.params, relinearization=self.plan.relinearization_limbs
        )
        x = np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))
        upload = steps.encrypt(keys.encryptor, self.plan.features, steps.pack(self.plan, x))
        self.evaluator = backend.evaluator(self.plan.params, keys.public)
        self.features = self.evaluator.load(upload, self.plan.features)
        head = build_head("quadratic" if hidden else "linear", FEATURES, hidden, CLASSES, seed=1)
        self.layers = list(steps.compile_model(self.plan, head).maps)

    @property
    def prime(self):
        return self.plan.params.primes[0]

    @property
    def masks(self):
        """a_i at every root, modulo the first prime: public, from the student's own seeds."""
        return expanded(self.features.payload)[:, 1, 0].astype(np.int64)

    def answer(self, *, sanitised):
        """The logits' ciphertexts at full level, as the student would receive them."""
        logits = network_logits(
            self.evaluator,
            self.features,
            self.plan.specs,
            self.plan.schedule.stages,
            self.plan.spec.layers,
            self.layers,
        )
        if sanitised:
            logits = self.evaluator.sanitize(logits, self.plan.spec.flooding_bits)
        return self.evaluator.extract(logits, None)

    def last_mask(self, *, sanitised):
        """The highest polynomial of each class, modulo the first prime."""
        released = self.answer(sanitised=sanitised)
        words = np.frombuffer(released.data, "<u4").reshape(released.meta.residue_shape)
        return words[:, -1, 0].astype(np.int64)


def recover_linear(exchange, *, sanitised):
    """c1 = sum_i w_i a_i: d unknowns, one equation a root."""
    masks = exchange.masks[:, :FEATURES].T
    right = exchange.last_mask(sanitised=sanitised)[:, :FEATURES]
    return np.array([solve_mod(masks, row, exchange.prime) for row in right])


def recover_quadratic(exchange, *, sanitised):
    """c2 = sum_ij S_ij a_i a_j with S = W1^T diag(w2) W1: linear in the entries of S."""
    pairs = list(combinations_with_replacement(range(FEATURES), 2))
    a, p = exchange.masks.astype(object), exchange.prime
    products = np.array([[a[i, r] * a[j, r] % p for i, j in pairs] for r in range(len(pairs))])
    right = exchange.last_mask(sanitised=sanitised)[:, : len(pairs)]
    return np.array([solve_mod(products, row, p) for row in right])


def true_quadratic(exchange):
    """The entries of S for each class, off-diagonal ones doubled."""
    first, second = (layer.weights for layer in exchange.layers)
    forms = [first.T @ np.diag(row) @ first for row in second]
    pairs = list(combinations_with_replacement(range(FEATURES), 2))
    return np.array([[s[i, j] * (1 if i == j else 2) for i, j in pairs] for s in forms])


@pytest.fixture(scope="module")
def linear():
    return Exchange(hidden=0)


@pytest.fixture(scope="module")
def quadratic():
    return Exchange(hidden=3)


def test_an_unsanitised_answer_gives_away_every_weight(linear):
    assert (recover_linear(linear, sanitised=False) == linear.layers[0].weights).all()


def test_a_sanitised_answer_does_not(linear):
    recovered = recover_linear(linear, sanitised=True)
    # Solutions of a masked system are uniform modulo the prime; a weight has 12 bits.
    assert (np.abs(recovered) > linear.plan.specs[0].max_integer).mean() > 0.9


def test_an_unsanitised_quadratic_answer_gives_away_its_quadratic_forms(quadratic):
    """The forms S determine the logits up to terms of lower degree, for every input."""
    assert (recover_quadratic(quadratic, sanitised=False) == true_quadratic(quadratic)).all()


def test_a_sanitised_quadratic_answer_does_not(quadratic):
    recovered = recover_quadratic(quadratic, sanitised=True)
    assert not (recovered == true_quadratic(quadratic)).any()


def test_two_sanitised_answers_share_no_mask(linear):
    first, second = (linear.last_mask(sanitised=True) for _ in range(2))
    assert (first == second).mean() < 0.01
