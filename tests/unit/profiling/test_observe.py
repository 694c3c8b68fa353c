"""Evaluators under observation compute the same, and everything they do is seen."""

import inspect

import numpy as np
import pytest

from securefair.ckks.backends.clear import ClearBackend
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.rules import fresh
from securefair.ckks.tensor import CipherTensor
from securefair.profiling.observe import OPERATIONS, observed


@pytest.fixture
def evaluator():
    spec = CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31)
    return ClearBackend().evaluator(CkksParameters(spec), PublicKeys(b"", b""))


def test_every_public_operation_is_observed():
    public = {
        name for name, _ in inspect.getmembers(Evaluator, callable) if not name.startswith("_")
    }
    # What is made ahead is no part of an answer, so nothing watches it.
    assert set(OPERATIONS) == public - {"prepare", "meanwhile", "open_keys"}


def test_the_twin_computes_the_same_and_reports_it(evaluator):
    seen = []

    def watch(operation, method, *arguments, **keywords):
        seen.append((operation, len(arguments), keywords))
        return method(*arguments, **keywords)

    meta = fresh(evaluator.params, count=2, limbs=2, log2_scale=20, bound=1.0)
    x = CipherTensor(meta, np.random.default_rng(0).uniform(-1, 1, (2, 2048)))
    twin = observed(evaluator, watch)
    assert np.array_equal(twin.square(x).payload, evaluator.square(x).payload)
    assert np.array_equal(
        twin.inner(x, x, bound=2.0).payload, evaluator.inner(x, x, bound=2.0).payload
    )
    assert seen == [("square", 1, {}), ("inner", 2, {"bound": 2.0})]


def test_the_original_is_not_observed(evaluator):
    def refuse(*arguments, **keywords):
        raise AssertionError

    meta = fresh(evaluator.params, count=1, limbs=2, log2_scale=20, bound=1.0)
    x = CipherTensor(meta, np.ones((1, 2048)))
    twin = observed(evaluator, refuse)
    with pytest.raises(AssertionError):
        twin.add(x, x)
    assert evaluator.add(x, x).payload[0, 0] == 2
