"""Heads of any shape at the edge of what their spec bounds, and their exchange in one function."""

import math

import numpy as np

from securefair.circuit import weighing
from securefair.circuit.answer import Inputs, answer
from securefair.circuit.packings.monomials.plans import shortest as in_monomials
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.layers import AffineLayer
from securefair.model.projection import sample_at


def spec_of(**changes):
    facts = {"features": 5, "classes": 3, "samples": 4, "hidden": 3, "release": "logits"}
    return ExchangeSpec(**{**facts, **changes})


def in_forms(spec):
    """The fastest plan with monomials, whether the planner would choose it or not."""
    return weighing.flooded(in_monomials(spec)[0])


def head_of(spec, seed=0):
    """Maps that reach what the spec bounds, and what they compute."""
    rng = np.random.default_rng(seed)
    maps, inputs = [], spec.features
    for bounds in spec.layers:
        last = bounds is spec.layers[-1] or bounds == spec.layers[-1]
        rounded = math.sqrt(inputs) * 2.0 ** (-bounds.log2_scale - 1)  # lengthens a row
        most = min(bounds.l2, bounds.l1 / math.sqrt(inputs)) - rounded
        norm = most if last else spec.bounds.row_norm
        rows = rng.uniform(-1, 1, (bounds.outputs, inputs + 1))
        rows *= norm / np.linalg.norm(rows, axis=1, keepdims=True)
        integers = np.rint(rows[:, :-1] * 2.0**bounds.log2_scale).astype(np.int64)
        integers = np.clip(integers, -bounds.max_integer, bounds.max_integer)
        maps.append(AffineLayer(integers, rows[:, -1]))
        inputs = bounds.outputs
    return maps


def logits_of(spec, maps, features):
    values = features.T
    for place, (bounds, layer) in enumerate(zip(spec.layers, maps, strict=True)):
        values = layer.apply(values, bounds.log2_scale)
        values = values**2 if place < len(maps) - 1 else values
    return values.T


def features_of(spec, seed=1):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (spec.samples, spec.features)) * spec.bounds.feature
    longest = np.linalg.norm(features, axis=1, keepdims=True)
    return features * np.minimum(1, spec.feature_norm / longest)


def run(plan, maps, features, backend):
    engine = get_backend(backend)
    keys = engine.generate_keys(plan.params)
    evaluator = engine.evaluator(plan.params, keys.public)
    rows = features[sample_at(plan.spec.samples, plan.places)]
    packed = plan.packing.pack(plan.spec, plan.schedule, rows)
    blocks = [
        evaluator.load(keys.encryptor.encrypt(block, plan.features), plan.features)
        for block in packed
    ]
    inputs = Inputs(blocks, [], np.ones(len(blocks), np.int64), np.zeros(0, np.int64))
    released = answer(evaluator, plan.spec, plan.schedule, plan.specs, maps, inputs)
    opened = np.concatenate([keys.decryptor.open(part) for part in released], axis=1)
    return opened[:, : plan.spec.samples].T, released
