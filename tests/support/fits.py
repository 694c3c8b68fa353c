"""Fits of runs whose subject is not how good they are: shared, and no longer than they need be.

Controls fit a forest, a process and three families for every hospital, and train heads until
validation says stop; scores are drawn again hundreds of times. That is most of what a small run
takes. Fits depend on patients, settings and a seed alone: the same patients are fitted once in a
process, not once in every run. Forests have few trees, heads few epochs, and errors few draws.
Tests of controls, scores and estimates call them themselves; an interpreter of its own
(`Program.fresh`) runs as a user's.
"""

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
from torch.nn import Module

KEPT = 256
"""Fits in memory at most, the latest."""

TREES, EPOCHS, ERROR_DRAWS, ESTIMATE_DRAWS = 10, 8, 50, 20
"""Of a forest; until a head stops at most; of the bootstraps of scores and of coefficients."""


def fingerprint(value):
    """What a fit depends on, as bytes: samples, seeds and generators where they stand."""
    if isinstance(value, np.ndarray):
        return repr((value.shape, value.dtype.str)).encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state).encode()
    if isinstance(value, Module):
        weights = {name: one.numpy(force=True) for name, one in value.state_dict().items()}
        return repr(value).encode() + fingerprint(weights)
    if isinstance(value, Mapping):
        return joined([part for pair in value.items() for part in pair])
    if isinstance(value, tuple | list):
        return joined(value)
    if hasattr(value, "__dataclass_fields__"):
        fields = [getattr(value, one) for one in value.__dataclass_fields__]
        return joined([type(value).__name__, *fields])
    if type(value).__repr__ is object.__repr__:
        raise TypeError(f"two {type(value).__name__}s cannot be told apart")
    return repr(value).encode()


def joined(values):
    """Fingerprints of several, each with its length: no two sequences give the same."""
    parts = [fingerprint(one) for one in values]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def remembering(fit):
    """The same function, which fits the same once."""
    kept = OrderedDict()

    @functools.wraps(fit)
    def remembered(*arguments, **named):
        key = hashlib.sha256(joined([arguments, sorted(named.items())])).digest()
        if key not in kept:
            kept[key] = fit(*arguments, **named)
            while len(kept) > KEPT:
                kept.popitem(last=False)
        kept.move_to_end(key)
        return kept[key]

    return remembered


def share_fits():
    """Let runs of this process share and shorten their fits; called once."""
    from securefair.collaboration import controls, scores
    from securefair.collaboration.transfer import host, renewal
    from securefair.collaboration.validation import pages
    from securefair.model import usual
    from securefair.prediction import evaluation
    from securefair.worth import tuned

    def usual_model(name, samples, seed):
        if name == "forest":
            few = functools.partial(usual._forest, trees=TREES)
            return usual.estimated(few, samples, seed)
        return usual.usual_model(name, samples, seed)

    slow = controls.EarlyStopping

    class QuickEarlyStopping(slow):
        def __init__(self, *, rounds, **settings):
            super().__init__(rounds=min(rounds, EPOCHS), **settings)

        init = remembering(slow.init)

        def __reduce__(self):  # another process knows the class alone, and shares no fits
            return functools.partial(slow, **vars(self)), ()

    tuned.own_fit = renewal.own_fit = remembering(tuned.own_fit)
    tuned.usual_model = remembering(usual_model)
    controls.EarlyStopping = QuickEarlyStopping
    scores.Scored = functools.partial(scores.Scored, draws=ERROR_DRAWS)
    for module in (evaluation, pages):
        module.score_page = functools.partial(module.score_page, draws=ERROR_DRAWS)
    host.linear_estimates = functools.partial(host.linear_estimates, draws=ESTIMATE_DRAWS)


def begin_quickly(*arguments):
    """What begins a process of a run of several, in such a process: it is to do as this one."""
    from securefair.run.processes import _begin

    share_fits()
    _begin(*arguments)
