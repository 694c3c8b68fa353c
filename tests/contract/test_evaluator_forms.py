"""Quadratic forms of values in coefficients: what comes out, how far off, and what is refused."""

import math

import numpy as np
import pytest

from contract.operands import coefficient_upload
from securefair.ckks import plain_rules, rules
from securefair.ckks.encoding import reversed_integers
from securefair.ckks.specs import PolynomialSpec
from securefair.ckks.turning import turn, width
from securefair.errors import EncryptionError, ModelError

SCALE, FORM_SCALE, PIECES, FORMS = 52.0, 20, 3, 2
FIRST = np.zeros(1, dtype=np.int64)


@pytest.fixture
def packs(backend):
    if backend.name == "openfhe":
        pytest.skip("the openfhe backend packs in slots only")


def drawn(ring, seed=1, pieces=PIECES):
    """Values of norm 1 in pieces, forms of norm 1 in blocks, and what these make of those."""
    rng, each = np.random.default_rng(seed), width(ring.params.ring_degree)
    x = rng.normal(size=(pieces, each))
    x /= np.linalg.norm(x)
    rows, columns = np.triu_indices(pieces)
    blocks = rng.normal(size=(FORMS, len(rows), each, each))
    blocks /= np.sqrt((blocks**2).sum(axis=(1, 2, 3), keepdims=True))
    logits = np.einsum("cpij,pi,pj->c", blocks, x[rows], x[columns])
    return x, blocks, logits


def polynomials_of(ring, blocks):
    n = ring.params.ring_degree
    each = blocks.shape[-1]
    places = (np.arange(each)[:, None] + turn(n) * np.arange(each)).ravel()
    spread = np.zeros((*blocks.shape[:2], n))
    spread[..., places] = blocks.reshape(*blocks.shape[:2], -1)
    return [reversed_integers(form, FORM_SCALE, n) for form in spread]


def spec_of(pieces=PIECES):
    count = pieces * (pieces + 1) // 2
    return PolynomialSpec(count=count, log2_scale=FORM_SCALE, l2=1.0, bound=1.0)


def l1_of(ring):
    return math.sqrt(width(ring.params.ring_degree))


def forms_of(ring, seed=1):
    x, blocks, logits = drawn(ring, seed)
    upload = coefficient_upload(ring, x, log2_scale=SCALE)
    polynomials = polynomials_of(ring, blocks)
    made = ring.evaluator.quadratic_plain(upload, spec_of(), polynomials, l1=l1_of(ring))
    assert made.meta == plain_rules.quadratic_plain(
        upload.meta, spec_of(), outputs=FORMS, l1=l1_of(ring)
    )
    # What the rounded forms give: rounding is no noise.
    n, each = ring.params.ring_degree, blocks.shape[-1]
    places = (np.arange(each)[:, None] + turn(n) * np.arange(each)).ravel()
    turned_back = [np.concatenate([p[:, :1], -p[:, :0:-1]], axis=1) for p in polynomials]
    rounded = np.stack([p[:, places] for p in turned_back]).reshape(blocks.shape)
    rows, columns = np.triu_indices(PIECES)
    exact = np.einsum("cpij,pi,pj->c", rounded * 2.0**-FORM_SCALE, x[rows], x[columns])
    assert np.abs(exact - logits).max() < 2.0 ** (-FORM_SCALE + 5)
    return made, exact


@pytest.mark.usefixtures("packs")
def test_the_constant_coefficient_is_the_quadratic_form(wide):
    made, exact = forms_of(wide)
    assert made.meta.polys == 4
    opened = wide.open(made, FIRST)[:, 0]
    assert np.abs(opened - exact).max() <= rules.coefficient_error(made.meta)


@pytest.mark.usefixtures("packs")
@pytest.mark.parametrize("limbs", [5, 4, 3])
def test_forms_are_divided_and_sanitised_within_what_the_rules_state(wide, limbs):
    made, exact = forms_of(wide, seed=limbs)
    divided = wide.evaluator.rescale(made, limbs, slots=False)
    safe = wide.evaluator.sanitize(divided, 4)
    for tensor in (divided, safe):
        opened = wide.open(tensor, FIRST)[:, 0]
        assert np.abs(opened - exact).max() <= rules.coefficient_error(tensor.meta)


@pytest.mark.usefixtures("packs")
def test_errors_of_forms_and_of_their_masks_are_within_the_stated_deviation(wide, planned):
    """Of a form of zeros all coefficients are errors: those of divisions and masks. Of one entry
    each is an error times a value, as large as stated if the value is all there is."""
    if not planned:
        pytest.skip("errors are at the planned size on rns and seal only")
    n = wide.params.ring_degree
    x = np.zeros((PIECES, width(n)))
    x[0, 0] = 1.0
    upload = coefficient_upload(wide, x, log2_scale=SCALE)
    spec = spec_of()
    nothing, entry = np.zeros((2, spec.count, n), dtype=np.int64)
    entry[0, 0] = 1 << FORM_SCALE  # of x_0 times itself
    made = wide.evaluator.quadratic_plain(upload, spec, [nothing, entry], l1=1.0)
    errors = wide.open(made, np.arange(n))[1] * 2.0**made.meta.log2_scale
    errors[0] -= 2.0**made.meta.log2_scale
    # x_0 e(X^t) + x_0(X^t) e: two errors, each a deviation of sqrt(1/2) of the worst case.
    assert 0.6 <= errors.std() / made.meta.noise <= 1.0
    bare = wide.evaluator.rescale(made, 3, slots=False)
    masked = wide.evaluator.sanitize(bare, 0)
    opened = wide.open(masked, np.arange(n))[0] * 2.0**masked.meta.log2_scale
    assert 0.9 <= opened.std() / masked.meta.noise <= 1.06


@pytest.mark.usefixtures("packs")
def test_what_does_not_fit_is_refused(wide):
    x, blocks, _ = drawn(wide)
    upload = coefficient_upload(wide, x, log2_scale=SCALE)
    polynomials = polynomials_of(wide, blocks)
    evaluate, l1 = wide.evaluator.quadratic_plain, l1_of(wide)
    with pytest.raises(ModelError, match="norm of the polynomials"):
        evaluate(upload, spec_of(), [2 * polynomials[0]], l1=l1)
    with pytest.raises(ModelError, match="shape"):
        evaluate(upload, spec_of(), [polynomials[0][:2]], l1=l1)
    with pytest.raises(EncryptionError, match="another size"):
        evaluate(upload, spec_of(2), [polynomials[0][:3]], l1=l1)
    with pytest.raises(EncryptionError, match="wrap around"):
        evaluate(coefficient_upload(wide, x, log2_scale=61.0), spec_of(), [None] * 2, l1=2.0**75)
    with pytest.raises(EncryptionError, match="packed in coefficients"):
        evaluate(wide.upload(x, log2_scale=40.0), spec_of(), [None], l1=l1)
