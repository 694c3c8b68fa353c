"""A head as quadratic forms of encrypted features: the teacher makes the products, without a key.

    features x -> pieces of (x, 1), encrypted as coefficients -> products of every two pieces, times
    the head's quadratic form, one a class -> logits

One wide sample has many monomials (`circuit.monomials`), and few features. A ciphertext holds a
piece of the latter. Times another one that is turned, without a key switch (`ckks.turning`), it
holds all products of both pieces, one a coefficient, and a reversed polynomial takes the inner
product with a block of the form:

    logit_c = sum_(k <= l) x_k^T (Q_kl + Q_lk^T) x_l    (of k = l Q_kk alone).

784 features travel in 9 ciphertexts instead of 76. The modulus pays for the product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.circuit import monomials
from securefair.circuit.monomials import BEYOND, Layout
from securefair.circuit.network import PrivateMap
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.encoding import reversed_integers
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.rules import fresh
from securefair.ckks.specs import AffineSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.ckks.turning import turn, width

P = TypeVar("P")
Array = NDArray[np.float64]


def coefficient_layout(spec: ExchangeSpec, schedule: Schedule) -> Layout:
    """The layout of samples that travel as coefficients, in pieces or as monomials."""
    if not schedule.pieces:
        return monomials.layout(spec, schedule.ckks.ring_degree)
    values = spec.features + 1
    return Layout(values, -(-values // width(schedule.ckks.ring_degree)), 1, spec.samples)


def coefficients_meta(params: CkksParameters, schedule: Schedule, spec: ExchangeSpec) -> CipherMeta:
    """Public facts of one block of samples that travel as coefficients."""
    if not schedule.pieces:
        return monomials.monomials_meta(params, schedule, spec)
    return fresh(
        params,
        count=coefficient_layout(spec, schedule).ciphertexts,
        limbs=params.limbs,
        log2_scale=schedule.feature_scale,
        bound=max(1.0, spec.bounds.feature),
        packing="coefficients",
    )


def pack_coefficients(spec: ExchangeSpec, schedule: Schedule, features: Array) -> Array:
    """Features (B, d) -> coefficients (blocks, ciphertexts, N), zero where nobody sits."""
    n = schedule.ckks.ring_degree
    if not schedule.pieces:
        return monomials.pack_monomials(spec, n, features)
    each, count = _each(spec, schedule), coefficient_layout(spec, schedule).ciphertexts
    values = np.zeros((len(features), count * each))
    values[:, : spec.features] = features
    values[:, spec.features] = 1.0
    packed = np.zeros((len(features), count, n))
    packed[:, :, :each] = values.reshape(-1, count, each)
    return packed


def rounding_error(spec: ExchangeSpec, schedule: Schedule) -> float:
    """Bound on what rounding a form to integers moves a logit by, for every form and sample."""
    if not schedule.pieces:
        return monomials.rounding_error(spec, schedule)
    count, each = coefficient_layout(spec, schedule).ciphertexts, _each(spec, schedule)
    entries = count * (count + 1) // 2 * each**2
    unit = float(2.0**-schedule.factor_scale)
    return math.sqrt(entries) / 2 * unit * monomials.monomials_norm(spec)


def logits_of_coefficients(
    evaluator: Evaluator[P],
    spec: ExchangeSpec,
    schedule: Schedule,
    specs: Sequence[AffineSpec],
    maps: Sequence[PrivateMap | None],
    blocks: Sequence[CipherTensor[P]],
) -> list[CipherTensor[P]]:
    """For each block one ciphertext a class, with logits in `Layout.coefficients`.

    All other coefficients mix samples and weights, and must not leave.

    Raises:
        ModelError, EncryptionError: see `monomials.form_polynomials`.
    """
    if not schedule.pieces:
        form = monomials.form_spec(spec, schedule)
        polynomials = monomials.form_polynomials(spec, schedule, specs, maps)
        return [monomials.monomial_logits(evaluator, b, form, polynomials) for b in blocks]
    form, made = block_spec(spec, schedule), block_polynomials(spec, schedule, specs, maps)
    l1 = math.sqrt(_each(spec, schedule) * monomials.monomials_norm(spec))
    return [evaluator.quadratic_plain(block, form, made, l1=l1) for block in blocks]


def block_spec(spec: ExchangeSpec, schedule: Schedule) -> PolynomialSpec:
    """Public facts of the polynomials of one class, one for every two pieces."""
    count = coefficient_layout(spec, schedule).ciphertexts
    return PolynomialSpec(
        count=count * (count + 1) // 2,
        log2_scale=round(schedule.factor_scale),
        # Of blocks above the diagonal twice the entries count, and half of them.
        l2=math.sqrt(2) * monomials.form_norm(spec),
        bound=BEYOND * spec.bounds.logit,
    )


def block_polynomials(
    spec: ExchangeSpec,
    schedule: Schedule,
    specs: Sequence[AffineSpec],
    maps: Sequence[PrivateMap | None],
) -> list[NDArray[np.int64] | None]:
    """For each class (pieces (pieces + 1) / 2, N), for `Evaluator.quadratic_plain`; otherwise as
    `monomials.form_polynomials`."""
    layers = monomials.checked_layers(specs, maps)
    if not layers:
        return [None] * spec.classes
    n, scale = schedule.ckks.ring_degree, round(schedule.factor_scale)
    each, count = _each(spec, schedule), coefficient_layout(spec, schedule).ciphertexts
    places = (np.arange(each)[:, None] + turn(n) * np.arange(each)).ravel()
    rows, columns = np.triu_indices(count)
    twice = np.where(rows == columns, 1.0, 2.0)[:, None]
    polynomials: list[NDArray[np.int64] | None] = []
    for form in monomials.quadratic_forms(layers, specs):
        square = np.zeros((count * each, count * each))
        square[: len(form), : len(form)] = form
        blocks = square.reshape(count, each, count, each).swapaxes(1, 2)[rows, columns]
        spread = np.zeros((len(rows), n))
        spread[:, places] = blocks.reshape(len(rows), -1) * twice
        polynomials.append(reversed_integers(spread, scale, n))
    return polynomials


def _each(spec: ExchangeSpec, schedule: Schedule) -> int:
    """Values of a piece, the last one filled up with zeros."""
    return -(-(spec.features + 1) // coefficient_layout(spec, schedule).ciphertexts)
