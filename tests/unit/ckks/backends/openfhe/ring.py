"""The ring that tests of openfhe use, and values in it."""

import numpy as np

from securefair.ckks import rules
from securefair.ckks.parameters import CkksParameters, CkksSpec

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31))
META = rules.fresh(PARAMS, count=2, limbs=2, log2_scale=25.0, bound=1.0)
VALUES = np.random.default_rng(0).uniform(-1, 1, (2, PARAMS.slots))


def uploaded(keys, evaluator):
    return evaluator.load(keys.encryptor.encrypt(VALUES, META), META)
