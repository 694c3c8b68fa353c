"""Watch an evaluator at work, or on paper, without a line in it.

The operations of `Evaluator` are the stages of a teacher's answer. A twin of an evaluator hands
every call to an observer, which may time it or write down what it was about, and must make it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from securefair.ckks.evaluator import Evaluator

P = TypeVar("P")

Observer = Callable[..., Any]
"""Called as observer(operation, method, *args, **kwargs); returns what the method returned."""

OPERATIONS = (
    "load",
    "gather",
    "linear",
    "paired_linear",
    "real_part",
    "interleaved_linear",
    "linear_from",
    "add",
    "subtract",
    "square",
    "square_sums",
    "square_sums_from",
    "quadratic",
    "multiply",
    "inner",
    "outer",
    "inner_plain",
    "outer_plain",
    "relinearize",
    "rescale",
    "sanitize",
    "extract",
)
"""Every public operation of an evaluator, in the order in which a circuit may use them.

`prepare` is none: no circuit calls it, and what it makes ahead is in no answer.
"""


def observed(evaluator: Evaluator[P], observer: Observer) -> Evaluator[P]:
    """A twin of an evaluator, on the same keys, whose operations go through the observer."""
    twin = copy.copy(evaluator)
    for operation in OPERATIONS:
        setattr(twin, operation, partial(observer, operation, getattr(evaluator, operation)))
    return twin
