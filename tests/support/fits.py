"""Fits that tests share: the same patients are fitted once in a process, not once in every run.

Controls fit a forest, a process and three families for every hospital, most of what a small run
takes. They depend on patients and a seed alone. Tests of these fits call them themselves, and
whole programs that tests start know nothing of this.
"""

import functools
import hashlib
import importlib
from collections import OrderedDict

import numpy as np

KEPT = 256
"""Fits in memory at most, the latest."""

USERS = (
    ("securefair.worth.tuned", "own_fit"),
    ("securefair.worth.tuned", "usual_model"),
    ("securefair.collaboration.transfer.renewal", "own_fit"),
)
"""Modules of runs, and what they call."""


def fingerprint(value):
    """What a fit depends on, as bytes: samples, seeds and generators where they stand."""
    if isinstance(value, np.ndarray):
        return repr((value.shape, value.dtype.str)).encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state).encode()
    if hasattr(value, "__dataclass_fields__"):
        return b"".join(fingerprint(getattr(value, one)) for one in value.__dataclass_fields__)
    return repr(value).encode()


def remembering(fit):
    """The same function, which fits the same once."""
    kept = OrderedDict()

    @functools.wraps(fit)
    def remembered(*arguments, **named):
        parts = [*arguments, *(part for pair in sorted(named.items()) for part in pair)]
        digest = hashlib.sha256()
        for part in map(fingerprint, parts):
            digest.update(len(part).to_bytes(8, "big") + part)
        key = digest.digest()
        if key not in kept:
            kept[key] = fit(*arguments, **named)
            while len(kept) > KEPT:
                kept.popitem(last=False)
        kept.move_to_end(key)
        return kept[key]

    return remembered


def share_fits():
    """Let runs of this process share their fits; called once."""
    shared = {}
    for module, name in USERS:
        home = importlib.import_module(module)
        fit = getattr(home, name)
        shared.setdefault(fit, remembering(fit))
        setattr(home, name, shared[fit])
