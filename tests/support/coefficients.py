"""All coefficients of a fitted function as one vector, to compare functions by."""

import numpy as np

from securefair.model.transfer import Leafed


def coefficients(model):
    polynomial = model.polynomial if isinstance(model, Leafed) else model
    parts = [polynomial.constant, polynomial.linear]
    parts += [] if polynomial.square is None else [polynomial.square]
    parts += [model.leaves] if isinstance(model, Leafed) else []
    return np.concatenate([part.ravel() for part in parts])
