"""One exchange whose ciphertexts hold pairs, taken apart."""

import numpy as np

from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys


def negated_part(pairs, tensor):
    """What conjugation negates, in the slots: of the decrypted message, by the holder of the key.

    J (-J) = 1 moves it to where slots are read; a mean over slots is coefficient N / 2.
    """
    n = pairs.params.ring_degree
    released = pairs.evaluator.extract(tensor, np.arange(n))
    message = pairs.keys.decryptor.open(Released(tensor.meta, np.arange(n), released.data))
    return message[:, n // 2]


def first_map(pairs, evaluator=None):
    """The first layer of the upload's first block, before its parts are separated."""
    evaluator = evaluator or pairs.evaluator
    return evaluator.paired_linear(pairs.features[0], pairs.plan.specs[0], pairs.layers[0])


def separated(pairs, evaluator=None):
    evaluator = evaluator or pairs.evaluator
    return evaluator.real_part(first_map(pairs, evaluator), bound=pairs.plan.specs[0].bound)


def with_conjugation_key(pairs, key):
    """A teacher's evaluator whose student sent this key for conjugates, or none."""
    keys = pairs.keys.public
    public = PublicKeys(keys.encryption, keys.relinearization, *([] if key is None else [key]))
    return pairs.backend.evaluator(pairs.params, public)


def strangers_key(pairs):
    """For conjugates, under another secret."""
    other = pairs.backend.generate_keys(pairs.params, galois=pairs.plan.galois_limbs)
    return other.public.galois


def not_separated_yet(pairs):
    """Steps that would let what was not separated into an answer."""
    return (
        lambda x: pairs.evaluator.sanitize(x, 30),
        pairs.evaluator.square,
        lambda x: pairs.evaluator.linear(x, pairs.plan.specs[1], pairs.layers[1]),
    )
