"""SEAL's own encryption of zero under a public key, as one call: what ours must equal."""

import struct

import _sealapi_cpp as seal

from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_bytes import own_pipe, read_ciphertext, write_ciphertext
from securefair.ckks.backends.seal_context import SealLoader


def literal_of(ring_degree, primes, generator=None):
    """CKKS parameters; with a generator, every draw is the same again."""
    literal = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    literal.set_poly_modulus_degree(ring_degree)
    literal.set_coeff_modulus([seal.Modulus(prime) for prime in primes])
    if generator is not None:
        literal.set_random_generator(generator)
    return literal


def levels_of(context):
    """SEAL's identifier of the data level with so many limbs."""
    found, level = {}, context.first_context_data()
    while level is not None:
        found[len(level.parms().coeff_modulus())] = level.parms_id()
        level = level.next_context_data()
    return found


def load_public_key(loader, params, data):
    """SEAL's encryptor under a peer's key: the former step."""
    first, seed = wire.read_public_key(data, params)
    level = struct.pack("<4Q", *loader.seal.key_parms_id())
    primes = (*params.primes, params.special_prime)
    key = seal.PublicKey()
    loader.load(key, write_ciphertext(first[None].astype("<u8"), level, primes, seed=seed))
    return seal.Encryptor(loader.seal, key)


def encryption_of_zero(params, public_key, limbs, generator):
    """Residues (2, limbs, N), by SEAL alone."""
    literal = literal_of(params.ring_degree, (*params.primes, params.special_prime), generator)
    loader = SealLoader(seal.SEALContext(literal, True, seal.SEC_LEVEL_TYPE.TC128))
    ciphertext = seal.Ciphertext()
    encryptor = load_public_key(loader, params, public_key)
    encryptor.encrypt_zero(levels_of(loader.seal)[limbs], ciphertext)
    return read_ciphertext(own_pipe().body(ciphertext))[0]
