"""Moving scale between the layers of a folded head, so that public bounds hold for every model.

A hidden unit's value may be multiplied by c if its output weights are divided by c^2: the square
between the layers makes both heads the same function. Encryption needs the freedom, because its
scales are public and must not depend on private weights.
"""

from __future__ import annotations

import numpy as np

from securefair.model.folded import AffineMap, FoldedHead


def balanced(head: FoldedHead, row_norm: float) -> FoldedHead:
    """The same function with every hidden unit's weights and bias of Euclidean norm `row_norm`.

    Units whose weights and bias are all zero stay as they are. The last layer takes what the
    others give away; a head of one layer is returned unchanged.
    """
    layers = list(head.layers)
    for index in range(len(layers) - 1):
        weights, bias = layers[index].weights, layers[index].bias
        norms = np.sqrt((weights**2).sum(axis=1) + bias**2)
        factor = np.divide(row_norm, norms, out=np.ones_like(norms), where=norms > 0)
        after = layers[index + 1]
        layers[index] = AffineMap(weights * factor[:, None], bias * factor)
        layers[index + 1] = AffineMap(after.weights / factor**2, after.bias)
    return FoldedHead(tuple(layers))
