"""Counts of work: by hand for single steps, in proportion for many."""

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from securefair.ckks.backends import kernel_choice, kernels, residues_device
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.primes import ntt_primes
from securefair.ckks.rules import fresh
from securefair.profiling.cost import Cost, cost, total
from securefair.profiling.trace import TracedStep

N, LIMBS = 4096, 2
BUTTERFLIES = N // 2 * 12
SPEC = CkksSpec(ring_degree=N, limb_bits=(31, 31), special_bits=31)


def meta(**changes):
    params = CkksParameters(SPEC)
    return replace(fresh(params, count=4, limbs=LIMBS, log2_scale=10, bound=1.0), **changes)


def step(operation, *inputs, output, coefficients=None, times=1):
    return TracedStep(operation, operation, inputs, output, coefficients, times)


def test_a_linear_layer_is_a_matrix_product():
    work = cost(step("linear", meta(count=5), output=meta(count=3)))
    residues = 2 * LIMBS * N
    assert work == Cost(multiply_adds=5 * 3 * residues, bytes=4 * (5 + 3) * residues)


def test_pairs_take_two_real_products_and_one_to_join_them():
    work = cost(step("paired_linear", meta(count=5), output=meta(count=3)))
    assert work.multiply_adds == (2 * 5 + 1) * 3 * 2 * LIMBS * N


def test_a_conjugate_is_switched_as_a_square_is():
    conjugate = cost(step("real_part", meta(), output=meta()))
    square = cost(step("relinearize", meta(polys=3), output=meta()))
    assert conjugate.transforms == square.transforms
    assert conjugate.multiply_adds == square.multiply_adds


@pytest.mark.parametrize(
    ("operation", "output", "products"),
    [
        ("square", {"polys": 3}, 4 * 3),
        ("multiply", {"polys": 3}, 4 * 4),
        ("inner", {"polys": 3, "count": 1}, 4 * 4),
        ("outer", {"polys": 3, "count": 16}, 16 * 4),
    ],
)
def test_products_of_ciphertexts(operation, output, products):
    inputs = [meta()] if operation == "square" else [meta(), meta()]
    work = cost(step(operation, *inputs, output=meta(**output)))
    assert work.multiply_adds == products * LIMBS * N
    assert work.transforms == 0


def test_seeds_expand_to_every_second_polynomial():
    work = cost(step("load", output=meta()))
    assert work == Cost(expanded=4 * LIMBS * N, bytes=4 * 3 * 4 * LIMBS * N)


@pytest.mark.parametrize("limbs", [2, 3, 4])
def test_transforms_are_those_of_the_kernels(monkeypatch, limbs):
    """Count what relinearising and rescaling really transform."""
    n = 1024
    rows = 0

    def counting(transform):
        def counted(x, basis):
            nonlocal rows
            rows += x.numel() // n
            return transform(x, basis)

        return counted

    for name in ("ntt_forward_", "ntt_inverse_"):
        monkeypatch.setattr(residues_device, name, counting(getattr(residues_device, name)))
    monkeypatch.setattr(kernel_choice, "_native", None)
    primes = ntt_primes(n, 31, limbs + 1)
    basis = kernels.Basis(n, primes[:limbs])
    x = np.zeros((2, 3, limbs, n), dtype=np.int32)
    key = np.zeros((limbs, 2, limbs + 1, n), dtype=np.int32)

    wide = replace(meta(count=2, polys=3), limbs=limbs)
    rows = 0
    kernels.relinearize(x, key, primes[-1], basis)
    relinearised = rows
    rows = 0
    kernels.rescale(x, limbs - 1, basis)
    assert cost(step("rescale", wide, output=replace(wide, limbs=limbs - 1))).transforms == rows
    planned = cost(step("relinearize", wide, output=replace(wide, polys=2))).transforms
    # A device transforms every digit again, the native kernel not those under their own prime.
    assert planned == relinearised - len(x) * limbs


def test_transforms_count_as_butterflies():
    work = cost(step("extract", meta(), output=meta(), coefficients=3))
    assert work.transforms == 4 * LIMBS
    assert work.multiply_adds == 4 * LIMBS * BUTTERFLIES
    assert cost(step("extract", meta(), output=meta())).transforms == 0


def test_three_polynomials_take_two_masks():
    two = cost(step("sanitize", meta(), output=meta()))
    three = cost(step("sanitize", meta(polys=3), output=meta(polys=3)))
    assert (two.encryptions, three.encryptions) == (4, 8)


def test_work_is_in_proportion_to_times_and_adds_up():
    once = step("square", meta(), output=meta(polys=3))
    assert cost(dataclasses.replace(once, times=7)) == total([cost(once)] * 7)
    assert cost(once) + Cost() == cost(once)


def test_an_unknown_operation_is_refused():
    with pytest.raises(ValueError, match="bootstrap"):
        cost(step("bootstrap", meta(), output=meta()))
