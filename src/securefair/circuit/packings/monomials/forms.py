"""A head as one linear map: the student encrypts products of features.

    features x -> monomials of (x, 1), encrypted as coefficients -> inner products with the head's
    quadratic form, one a class -> logits

A head with one square is a quadratic form in its features and a one,

    logit_c = sum_ij Q_cij x_i x_j,    Q_c = sum_u v_cu (w_u, b_u)(w_u, b_u)^T + bias,

so it is linear in the products x_i x_j with i <= j, and a linear head in x itself. Whoever sends
those instead of features needs no square, no key switch and no key, and a modulus of a third of
the length: an inner product with a reversed polynomial is all that is left (`ckks.encoding`). There
are (d + 1)(d + 2) / 2 of them a sample, which is little for few samples or few features, and much
for a block of samples in slots.

Products of two different features travel times sqrt(2). So the norm of what travels is the square
of the norm of (x, 1), and the norm of a polynomial that of Q_c.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.network import PrivateMap
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.encoding import reversed_integers
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.interleaving import interleave
from securefair.ckks.layers import AffineLayer, check_layer
from securefair.ckks.specs import AffineSpec, PolynomialSpec
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError

P = TypeVar("P")
Array = NDArray[np.float64]


SPACING = 32
"""Coefficients of an answer for each one that is sent, at least: more would show too much of its
mask to a dishonest key (`ckks.masking`)."""


BEYOND = 4
"""Logits up to so many times the agreed bound open right. Larger ones are refused when they are
opened: each is a coefficient of its own, which a modulus that is too short would wrap around."""


@dataclass(frozen=True)
class Layout:
    """Where samples sit in the coefficients of a block.

    Where all logits leave, one sample after the other. Else in the slots of polynomials in
    Y = X^parts, of which monomial f has X^f p_f(Y): times X^-f and its weight each brings its part
    to the polynomial in Y, whose coefficients are sums over all samples, as of samples in slots.

    Attributes:
        values: numbers that a sample travels as.
        ciphertexts: ciphertexts of a block. Several samples share one, or one sample takes several.
        samples: samples of a block.
        blocks: that all samples fill.
    """

    values: int
    ciphertexts: int
    samples: int
    blocks: int

    @property
    def coefficients(self) -> NDArray[np.int64]:
        """Coefficients (samples,) of an answer that hold logits, where they all leave."""
        return self.values * np.arange(self.samples, dtype=np.int64)


def layout(spec: ExchangeSpec, ring_degree: int, parts: int) -> Layout:
    """The layout of a spec's samples in a ring."""
    width = spec.features + 1
    values = width * (width + 1) // 2 if spec.hidden else width
    if not spec.leaves.whole:
        return Layout(values, -(-values // parts), ring_degree // parts // 2, 1)
    blocks = -(-spec.samples // max(1, ring_degree // max(values, SPACING)))
    samples = -(-spec.samples // blocks)
    return Layout(values, -(-values * samples // ring_degree), samples, blocks)


def layout_of(spec: ExchangeSpec, schedule: Schedule) -> Layout:
    """The layout of a schedule."""
    return layout(spec, schedule.ckks.ring_degree, schedule.parts)


def monomials_bound(spec: ExchangeSpec) -> float:
    """Largest number that travels, in size."""
    feature = max(1.0, spec.bounds.feature)
    return math.sqrt(2) * feature * feature if spec.hidden else feature


def monomials_norm(spec: ExchangeSpec) -> float:
    """Largest norm of what a sample travels as."""
    square = spec.feature_norm**2 + 1
    return square if spec.hidden else math.sqrt(square)


def open_bound(spec: ExchangeSpec) -> float:
    """Largest number that opens right. A sum over samples is a mean of logits, at most."""
    return spec.bounds.logit * (BEYOND if spec.leaves.whole else 1)


def form_spec(spec: ExchangeSpec, schedule: Schedule) -> PolynomialSpec:
    """Public facts of the polynomials of one class."""
    return PolynomialSpec(
        count=layout_of(spec, schedule).ciphertexts,
        log2_scale=round(schedule.factor_scale),
        l2=form_norm(spec),
        bound=open_bound(spec),
    )


def form_norm(spec: ExchangeSpec) -> float:
    """Largest norm of Q_c: of its summands; `row_norm` of the spec includes the bias of a unit."""
    *inner, outer = spec.layers
    norm = outer.l1 * inner[0].l2 ** 2 if inner else outer.l2
    return norm + spec.bounds.logit


def rounding_error(spec: ExchangeSpec, schedule: Schedule) -> float:
    """Bound on what rounding a form to integers moves a logit by, for every form and sample.

    Each coefficient moves by half a unit at most: Cauchy and Schwarz.
    """
    values = layout_of(spec, schedule).values
    return math.sqrt(values) / 2 * float(2.0**-schedule.factor_scale) * monomials_norm(spec)


def pack_monomials(spec: ExchangeSpec, schedule: Schedule, rows: Array) -> Array:
    """Features of all places of all blocks (places, d) -> coefficients (blocks, ciphertexts, N)."""
    n, form = schedule.ckks.ring_degree, layout_of(spec, schedule)
    values = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    if spec.hidden:
        first, second, scale = _pairs(values.shape[1])
        values = values[:, first] * values[:, second] * scale
    if not spec.leaves.whole:
        return interleave(values.T, schedule.parts, n)[None]
    packed = np.zeros((form.blocks, form.ciphertexts * n))
    packed[:, : form.samples * form.values] = values.reshape(form.blocks, -1)
    return packed.reshape(form.blocks, form.ciphertexts, n)


def form_polynomials(
    spec: ExchangeSpec,
    schedule: Schedule,
    specs: Sequence[AffineSpec],
    maps: Sequence[PrivateMap | None],
) -> list[NDArray[np.int64] | None]:
    """One (ciphertexts, N) a class, for `Evaluator.inner_plain`; None where nothing is computed.

    Raises:
        ModelError: weights exceed what their spec bounds.
        EncryptionError: these are no maps of a head.
    """
    layers = checked_layers(specs, maps)
    if not layers:
        return [None] * spec.classes
    n, scale = schedule.ckks.ring_degree, round(schedule.factor_scale)
    count = layout_of(spec, schedule).ciphertexts
    each = n if schedule.parts == 1 else schedule.parts
    polynomials: list[NDArray[np.int64] | None] = []
    for form in _forms(layers, specs):
        padded = np.zeros((count, each))
        padded.flat[: len(form)] = form
        polynomials.append(reversed_integers(padded, scale, n))
    return polynomials


def monomial_logits(
    evaluator: Evaluator[P],
    block: CipherTensor[P],
    spec: PolynomialSpec,
    polynomials: Sequence[NDArray[np.int64] | None],
) -> CipherTensor[P]:
    """Monomials of one block -> one ciphertext a class.

    Logits are in `Layout.coefficients`, or their polynomial in Y is in the powers of Y. All other
    coefficients mix samples and weights, and must not leave.
    """
    products = [evaluator.inner_plain(block, spec, each) for each in polynomials]
    rows = np.stack([np.arange(len(products)), np.zeros(len(products), np.int64)], axis=1)
    return evaluator.gather(products, rows)


def checked_layers(
    specs: Sequence[AffineSpec], maps: Sequence[PrivateMap | None]
) -> list[AffineLayer]:
    """The maps of a head, within what their specs bound; none where nothing is computed.

    Raises:
        ModelError, EncryptionError: see `form_polynomials`.
    """
    layers = [layer for layer in maps if isinstance(layer, AffineLayer)]
    if layers and len(layers) != len(specs):
        raise EncryptionError("a head needs all of its maps", found=len(layers))
    for affine, layer in zip(specs, layers, strict=False):
        check_layer(affine, layer)
    return layers


def quadratic_forms(layers: Sequence[AffineLayer], specs: Sequence[AffineSpec]) -> Iterator[Array]:
    """Q_c (d + 1, d + 1) of each class of a head with a square."""
    inner, outer = (_with_bias(layer, s) for layer, s in zip(layers, specs, strict=True))
    for row in outer:
        form = (inner.T * row[:-1]) @ inner
        form[-1, -1] += row[-1]
        yield form


def _forms(layers: Sequence[AffineLayer], specs: Sequence[AffineSpec]) -> list[Array]:
    """For each class the numbers (values,) whose inner product with monomials is the logit."""
    if len(layers) == 1:
        return list(_with_bias(layers[0], specs[0]))
    rows, columns, scale = _pairs(layers[0].weights.shape[1] + 1)
    return [form[rows, columns] * scale for form in quadratic_forms(layers, specs)]


def _with_bias(layer: AffineLayer, spec: AffineSpec) -> Array:
    """Weights and bias (outputs, inputs + 1), in value units."""
    weights = layer.weights * 2.0**-spec.log2_scale
    joined: Array = np.concatenate([weights, layer.bias[:, None]], axis=1)
    return joined


def _pairs(width: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Both factors of every monomial, and what it is multiplied with."""
    rows, columns = np.triu_indices(width)
    scale: Array = np.where(rows == columns, 1.0, math.sqrt(2))
    return rows, columns, scale
