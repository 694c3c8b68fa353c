import math

import _sealapi_cpp as seal
import numpy as np
import pytest

from securefair.ckks.backends import public_zeros, seal_draws, seal_keys
from securefair.ckks.backends.public_zeros import PublicZeros
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.backends.seal_draws import LARGEST_ERROR, Draws
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.security import ERROR_STD
from securefair.errors import EncryptionError
from support.seal_reference import encryption_of_zero

SPECS = {
    "sums": CkksSpec(ring_degree=4096, limb_bits=(30, 30, 30), special_bits=16),
    "answers": CkksSpec(ring_degree=8192, limb_bits=(31, 30, 31), special_bits=31),
    "largest": CkksSpec(ring_degree=32768, limb_bits=(31, 31), special_bits=17),
}


def generator(seed):
    return seal.Blake2xbPRNGFactory([seed] * 8)


@pytest.fixture
def seeded(monkeypatch):
    """Draws whose generators all begin with a seed, in place of the system's."""
    literal = seal_draws._literal

    def make(seed):
        def known(*arguments):
            made = literal(*arguments)
            made.set_random_generator(generator(seed))
            return made

        monkeypatch.setattr(seal_draws, "_literal", known)
        monkeypatch.setattr(public_zeros, "draws_of", Draws)

    return make


@pytest.mark.parametrize("name", SPECS)
def test_an_encryption_is_the_one_that_seal_makes_of_the_same_generator(name, seeded):
    params = CkksParameters(SPECS[name])
    _, public = seal_keys.generate(seal_context(params))
    for seed in (1, 2):
        seeded(seed)
        for limbs in range(1, params.limbs + 1):
            ours = PublicZeros(params, public.encryption).take(limbs, 1)[0]
            theirs = encryption_of_zero(params, public.encryption, limbs, generator(seed))
            assert (ours == theirs).all()


@pytest.fixture(scope="module")
def drawn():
    return Draws(4096).take(40)


def test_draws_have_the_distributions_of_the_security_table(drawn):
    ternary, errors = drawn[0], drawn[1:]
    count = ternary.size
    for value in (-1, 0, 1):
        assert abs((ternary == value).mean() - 1 / 3) < 5 * math.sqrt(2 / 9 / count)
    for error in errors:
        assert np.abs(error).max() <= LARGEST_ERROR
        assert abs(error.mean()) < 5 * ERROR_STD / math.sqrt(count)
        assert abs(error.var() / ERROR_STD**2 - 1) < 5 * math.sqrt(2 / count)


def test_draws_share_nothing(drawn):
    u, e0, e1 = (part.astype(float) for part in drawn)
    again = Draws(4096).take(1).astype(float)
    pairs = [(u, e0), (u, e1), (e0, e1), (u[:1], again[0]), (e0[:1], again[1])]
    pairs += [(part[1:], part[:-1]) for part in (u, e0, e1)]
    for x, y in pairs:
        correlation = np.corrcoef(x.ravel(), y.ravel())[0, 1]
        assert abs(correlation) < 5 / math.sqrt(x.size)


@pytest.mark.parametrize(("half", "value"), [(0, 64 * 2), (1, LARGEST_ERROR + 1), (0, 64 + 22)])
def test_what_is_no_draw_is_refused(half, value, monkeypatch):
    read = seal_draws.read_ciphertext

    def other(body):
        residues, seed = read(body)
        residues = residues.copy()
        residues[half, 0, 9] = value
        return residues, seed

    monkeypatch.setattr(seal_draws, "read_ciphertext", other)
    with pytest.raises(EncryptionError, match="draws other errors"):
        Draws(4096).take(2)
