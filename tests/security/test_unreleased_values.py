"""What an answer tells beyond the numbers it releases: nothing that its bytes give away.

Adversary: a curious student with its secret key, everything it encrypted, all answers, and even a
list of candidate models. Protected: the coefficients and single logits that a release leaves out,
and which of several models that agree on the released numbers has answered; computationally, as
long as the masks of a sanitised answer look uniform (RLWE). Still disclosed: the released numbers
and whatever follows from them and the student's own data.
"""

import numpy as np
import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.encoding import to_slots
from securefair.exchange import steps
from securefair.model.heads import build_head
from securefair.model.projection import public_rows

SAMPLES, FEATURES, CLASSES = 60, 5, 2
SPECS = {
    "projection": {"hidden": 0, "q": 8},
    "quadratic projection": {"hidden": 3, "q": 8},
    "loss": {"hidden": 0, "release": "loss"},
    "class_sums": {"hidden": 0, "release": "class_sums"},
}


def features_of():
    return np.random.default_rng(0).uniform(-1, 1, (SAMPLES, FEATURES))


def predictions_of():
    return np.random.default_rng(1).dirichlet(np.ones(CLASSES), SAMPLES)


class Asked:
    """An exchange whose predictions, if any, are at the teacher too."""

    def __init__(self, exchange, name, backend="rns"):
        spec = ExchangeSpec(features=FEATURES, classes=CLASSES, samples=SAMPLES, **SPECS[name])
        self.exchange = exchange(spec, features_of(), backend=backend)
        self.factors = ()
        plan = self.exchange.plan
        if plan.factors is not None:
            packed = steps.pack_factors(plan, predictions_of())
            query = steps.encrypt(self.exchange.keys.encryptor, plan.factors, packed)
            evaluator = self.exchange.evaluator
            self.factors = steps.receive(evaluator, plan.factors, query, plan.blocks)

    def answer(self, **changes):
        return self.exchange.answer(factors=self.factors, **changes)


@pytest.fixture(scope="module")
def asked(exchange):
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = Asked(exchange, name)
        return kept[name]

    return get


every_sum = pytest.mark.parametrize("name", SPECS)


@every_sum
def test_an_answer_holds_masks_and_the_released_coefficients_and_nothing_else(asked, name):
    here = asked(name)
    plan, answer = here.exchange.plan, here.answer()
    masks, values = here.exchange.parts(answer)
    assert len(answer.data) == masks.nbytes + values.nbytes == plan.answer_bytes
    count, q = len(masks), plan.coefficients
    assert values.shape == (count, q, plan.schedule.answer_limbs)
    assert count * q == plan.numbers
    # Of N coefficients of the first polynomial all but q stay with the teacher.
    assert values.shape[1] < plan.params.ring_degree // 100


@every_sum
def test_masks_look_uniform_under_every_prime(asked, uniform, name):
    here = asked(name)
    masks, _ = here.exchange.parts(here.answer())
    for limb, prime in enumerate(here.exchange.params.primes[: masks.shape[2]]):
        for polynomial in range(masks.shape[1]):
            assert uniform(masks[:, polynomial, limb], prime)
    assert len(np.unique(masks)) > 0.99 * masks.size
    assert masks.any(axis=-1).all()


@every_sum
def test_a_guessed_model_is_confirmed_by_an_unsanitised_answer_and_not_by_another(
    asked, unsanitised, uniform, name
):
    """The strongest guess: the right weights. A student can run the circuit with them itself."""
    here = asked(name)
    bare = unsanitised(here.exchange)
    guess, _ = here.exchange.parts(here.answer(evaluator=bare))
    leaked, _ = here.exchange.parts(here.answer(evaluator=bare))
    assert (leaked == guess).all()  # evaluation is deterministic: the guess is confirmed
    masks, _ = here.exchange.parts(here.answer())
    assert (masks == guess).mean() < 0.01
    for limb, prime in enumerate(here.exchange.params.primes[: masks.shape[2]]):
        residual = (masks[:, :, limb].astype(np.int64) - guess[:, :, limb]) % prime
        for polynomial in range(masks.shape[1]):
            assert uniform(residual[:, polynomial], prime)


@every_sum
def test_without_the_unsent_coefficients_decryption_is_uniform_garbage(asked, uniform, name):
    """Of `loss` and `class_sums` one coefficient a ciphertext leaves: the mean over all samples.

    Filling the rest of the first polynomial with zeros and decrypting gives uniform values; with
    them, as the control shows, the product of every sample would be there.
    """
    here = asked(name)
    exchange, answer = here.exchange, here.answer()
    opened = exchange.zero_filled(answer)
    meta, n = answer.meta, exchange.params.ring_degree
    hidden = np.setdiff1d(np.arange(n), answer.coefficients)
    span = 2.0 ** (meta.log_q - meta.log2_scale)
    assert uniform(opened[:, hidden], span, low=-span / 2)
    # What was released is there and right.
    again = exchange.keys.decryptor.open(answer)
    np.testing.assert_allclose(opened[:, answer.coefficients], again, atol=1e-9)


def test_with_the_unsent_coefficients_decryption_would_give_every_sample(asked):
    """The control: extracted whole, the very same sums open to one product a sample."""
    here = asked("class_sums")
    exchange = here.exchange
    whole = Whole(exchange)
    answer = here.answer(evaluator=whole)
    slots = exchange.keys.decryptor.open(answer)[:, :SAMPLES].T
    head = steps.compile_model(exchange.plan, exchange.model)
    products = predictions_of() * head.logits(features_of())
    assert np.corrcoef(slots.ravel(), products.ravel())[0, 1] > 0.999

    zero_filled = to_slots_of(exchange, here.answer())[:, :SAMPLES].T
    correlation = np.corrcoef(zero_filled.ravel(), products.ravel())[0, 1]
    assert abs(correlation) < 6.5 / np.sqrt(products.size)


class Whole:
    """The exchange's evaluator, but that it gives out every coefficient.

    Attributes:
        planned: what it would have let out instead, of the last answer.
    """

    def __init__(self, exchange):
        self._evaluator = exchange.evaluator

    def __getattr__(self, name):
        return getattr(self._evaluator, name)

    def extract(self, x, coefficients):
        self.planned = self._evaluator.extract(x, coefficients)
        return self._evaluator.extract(x, None)


def to_slots_of(exchange, answer):
    """Slots of a zero-filled decryption."""
    return to_slots(exchange.zero_filled(answer))


# -- reconstruction ------------------------------------------------------------------------------

TEACHERS = 160


def predicted(features, targets, strength):
    """Ridge regression, fitted to the first half of the teachers, for all of them."""
    half = TEACHERS // 2
    centre, scale = features[:half].mean(0), features[:half].std(0) + 1e-12
    x, mean = (features - centre) / scale, targets[:half].mean(0)
    gram = x[:half].T @ x[:half] + strength * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x[:half].T @ (targets[:half] - mean))
    return x @ weights + mean


def explained(features, targets):
    """Share of the targets' variance on the other teachers that the best ridge explains."""
    held_out = slice(TEACHERS // 2, None)
    spread = ((targets - targets[: TEACHERS // 2].mean(0))[held_out] ** 2).sum()
    missed = [
        ((predicted(features, targets, strength) - targets)[held_out] ** 2).sum()
        for strength in (1e-6, 1e-3, 1.0, 30.0, 1e3, 1e5)
    ]
    return 1 - min(missed) / spread


@pytest.fixture(scope="module")
def population(exchange):
    """Answers of many teachers to one upload: logits, released numbers, garbage, and control."""
    spec = ExchangeSpec(features=FEATURES, classes=CLASSES, samples=SAMPLES, hidden=0, q=2)
    here = exchange(spec, features_of(), backend="rns")
    whole = Whole(here)
    logits, released, garbage, control = [], [], [], []
    for seed in range(TEACHERS):
        here.model = build_head("linear", FEATURES, 0, CLASSES, 100 + seed)
        opened = here.keys.decryptor.open(here.answer(evaluator=whole))
        control.append(opened[:, :SAMPLES].ravel())
        released.append(here.keys.decryptor.open(whole.planned).ravel())
        garbage.append(to_slots_of(here, whole.planned)[:, :SAMPLES].ravel())
        logits.append(here.model.logits(features_of()).T.ravel())
    return tuple(np.array(part) for part in (logits, released, garbage, control))


@pytest.mark.slow
def test_the_best_linear_reconstruction_gains_by_nothing_but_the_released_numbers(population):
    """Two numbers a class leave most of five weights open, and the masks do not close them."""
    logits, released, garbage, control = population
    assert 0.05 < explained(released, logits) < 0.9
    open_questions = logits - predicted(released, logits, 1e-6)
    assert explained(garbage, open_questions) < 0.1
    assert explained(garbage, logits) < 0.1
    # The same regression on answers that leak everything leaves nothing open.
    assert explained(control, open_questions) > 0.99


def test_what_the_released_numbers_imply_is_disclosed(exchange):
    """Not hidden, and not meant to be: each number is one equation about the teacher's weights.

    A linear model has d + 1 of them a class; with as many numbers a student knows its function.
    """
    spec = ExchangeSpec(
        features=FEATURES, classes=CLASSES, samples=SAMPLES, hidden=0, q=FEATURES + 3
    )
    here = exchange(spec, features_of(), backend="rns")
    opened = here.keys.decryptor.open(here.answer()).T
    rows = public_rows(here.params.ring_degree, here.basis.coefficients, SAMPLES, np.ones(1))
    design = np.hstack([features_of(), np.ones((SAMPLES, 1))])
    solved = design @ np.linalg.pinv(rows @ design)
    logits = steps.compile_model(here.plan, here.model).logits(features_of())
    # Each opened number may be off by the plan's bound; solving for the weights adds them up.
    bound = here.plan.error_bound * np.abs(solved).sum(axis=1, keepdims=True)
    missed = solved @ opened - logits
    assert (np.abs(missed) <= bound).all()
    assert (missed**2).sum() < 0.05 * ((logits - logits.mean(axis=0)) ** 2).sum()


def test_released_coefficients_are_the_promised_sums_over_all_samples(asked):
    here = asked("projection")
    exchange = here.exchange
    opened = exchange.keys.decryptor.open(here.answer()).T
    n = exchange.params.ring_degree
    head = steps.compile_model(exchange.plan, exchange.model)
    rows = public_rows(n, exchange.basis.coefficients, SAMPLES, np.ones(1))
    assert np.abs(opened - rows @ head.logits(features_of())).max() <= exchange.plan.error_bound
    # No row singles a sample out: none weighs more than it does in the mean.
    assert (np.abs(rows) <= 1.2 * np.abs(rows[0])).all()
    assert np.abs(rows[0]).max() <= 2 * 1.2 / SAMPLES  # the first of an even number stands twice
