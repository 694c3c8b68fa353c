"""Known answers of every step between an upload and an answer, from inputs that anybody can make.

Inputs are words of SHAKE-128: word i of a label is the little-endian number in bytes 8 i to 8 i + 7
of its output. A residue is such a word modulo its prime. Outputs are residues as little-endian u32
in the order (ciphertext, polynomial, prime, place), told by their SHA-256 and the first four of
every row. `docs/notebook/known-answers.md` says it for other implementations.
"""

from __future__ import annotations

import base64
import hashlib
import math

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from securefair.averaging.gathering import Gathering
from securefair.averaging.pairwise import pair_masks, public_bytes
from securefair.averaging.streams import key_stream
from securefair.ckks import rules
from securefair.ckks.backends import wire
from securefair.ckks.encoding import to_coefficients
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.specs import AffineSpec

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31))
N, PRIMES = PARAMS.ring_degree, PARAMS.primes
SHOWN = 4
COEFFICIENTS = np.array([0, 5, 4095])
LOG2_AMPLITUDE = 40
BIAS = (0.25, -0.5)


def words(label: str, count: int) -> np.ndarray:
    """(count,) unsigned 64-bit words of a label."""
    return np.frombuffer(hashlib.shake_128(label.encode()).digest(8 * count), dtype="<u8")


def residues(label: str, *shape: int) -> np.ndarray:
    """(*shape, limbs, N) residues of a label."""
    limbs = len(PRIMES)
    drawn = words(label, math.prod(shape) * limbs * N).reshape(*shape, limbs, N)
    return (drawn % np.array(PRIMES, dtype=np.uint64)[:, None]).astype(np.uint32)


def told(data: bytes, polys: int, limbs: int) -> dict[str, object]:
    """What a vector keeps of whole ciphertexts."""
    rows = np.frombuffer(data, dtype="<u4").reshape(-1, polys, limbs, N)
    return {
        "shape": list(rows.shape),
        "sha256": hashlib.sha256(rows.astype("<u4").tobytes()).hexdigest(),
        "first": rows[..., :SHOWN].tolist(),
    }


class Replay:
    """One backend's evaluator with the vectors' keys, and what it makes of the inputs."""

    def __init__(self, backend, keys: PublicKeys) -> None:
        self.evaluator = backend.evaluator(PARAMS, keys)

    def upload(self, label: str, count: int, *, packing="slots"):
        """c0 by the rule, c1 from a seed of 64 bytes by the rule."""
        meta = rules.fresh(PARAMS, count=count, limbs=2, log2_scale=20, bound=1.0, packing=packing)
        seeds = [words(f"{label} seed {i}", 8).tobytes() for i in range(count)]
        return self.evaluator.load(
            wire.write_upload(residues(label, count), seeds, PARAMS.primes), meta
        )

    def told(self, tensor) -> dict[str, object]:
        """All residues of a tensor."""
        data = self.evaluator.extract(tensor, None).data
        return told(data, tensor.meta.polys, tensor.meta.limbs)

    def answers(self, monkeypatch) -> dict[str, dict[str, object]]:
        """Every vector."""
        ev = self.evaluator
        x = self.upload("x", 3)
        one = self.upload("one", 1)
        square = ev.square(one)
        layer = AffineLayer(
            (words("weights", 6) % np.uint64(31)).astype(np.int64).reshape(2, 3) - 15,
            np.array(BIAS),
        )
        spec = AffineSpec(
            inputs=3, outputs=2, log2_scale=4, max_integer=15, l1=3.0, l2=2.0, bound=4.0
        )
        products = ev.paired_linear(self.upload("pair", 2, packing="feature pairs"), spec, layer)
        return {
            "seed expansion": self.told(one),
            "linear layer": self.told(ev.linear(x, spec, layer)),
            "square": self.told(square),
            "relinearisation": self.told(ev.relinearize(square)),
            "linear layer of pairs": self.told(products),
            "real part": self.told(ev.real_part(products, bound=4.0)),
            "rescaling": self.told(ev.rescale(one, 1)),
            "sanitising": self.told(self.sanitised(one, monkeypatch)),
            "release": self.released(one),
        }

    def sanitised(self, x, monkeypatch):
        """With its randomness given: an encryption of zero, and integers of flooding noise."""
        module = type(self.evaluator).__module__
        flood = (words("flood", N) % np.uint64(2 << LOG2_AMPLITUDE)).astype(np.int64)
        flood -= 1 << LOG2_AMPLITUDE
        column = np.array(PRIMES)[:, None]

        def given(log2_amplitude, shape, primes):
            assert (shape, list(primes)) == ((1, N), list(PRIMES))
            return (flood % column)[None]

        def zeros(limbs, count):
            assert (limbs, count) == (2, 1)
            return residues("zero", 1, 2)

        monkeypatch.setattr(f"{module}.uniform_residues", given)
        monkeypatch.setattr(self.evaluator._zeros, "take", zeros)
        return self.evaluator.sanitize(x, 30)

    def released(self, x) -> dict[str, object]:
        """Three coefficients of the first polynomial, and the masks."""
        data = self.evaluator.extract(x, COEFFICIENTS).data
        masks, values = wire.read_answer(data, x.meta, len(COEFFICIENTS))
        return {
            "coefficients": COEFFICIENTS.tolist(),
            "values": values[0].tolist(),
            "masks": told(masks.tobytes(), 1, 2),
        }


def encoding() -> dict[str, object]:
    """Slots (j mod 201 - 100) / 100 at log2 scale 20, rounded: the first coefficients."""
    slots = ((np.arange(PARAMS.slots) % 201) - 100) / 100
    integers = np.rint(to_coefficients(slots[None], N)[0] * 2.0**20).astype(np.int64)
    return {"first": integers[:32].tolist(), "tolerance": 1}


def masks() -> dict[str, object]:
    """Two senders' pairwise key, and the stream that masks their sums."""
    first, second = (
        X25519PrivateKey.from_private_bytes(words(name, 4).tobytes()) for name in ("b", "c")
    )
    gathering = Gathering(session=SESSION, round=ROUND, receiver="a", senders=("b", "c"))
    (mask,) = pair_masks(first, {"c": public_bytes(second)}, gathering, "b", CONTEXT)
    return {
        "public": [public_bytes(first).hex(), public_bytes(second).hex()],
        "salt": gathering.digest.hex(),
        "key": mask.key.hex(),
        "sign": mask.sign,
        "stream": key_stream(mask.key, 0, 64).tobytes().hex(),
    }


SESSION, ROUND, CONTEXT = bytes(range(32)), 7, b"context"


def mask_inputs() -> dict[str, object]:
    """What the mask of the vectors is bound to, as the key derivation takes it."""
    b, c = (
        public_bytes(X25519PrivateKey.from_private_bytes(words(name, 4).tobytes()))
        for name in ("b", "c")
    )
    info = msgspec.msgpack.encode(("securefair pair mask", ("b", b), ("c", c), CONTEXT))
    return {
        "session": SESSION.hex(),
        "round": ROUND,
        "attempt": 0,
        "receiver": "a",
        "senders": ["b", "c"],
        "context": CONTEXT.hex(),
        "info": info.hex(),
        "counter": bytes(16).hex(),
    }


def switching_keys(keys: PublicKeys) -> dict[str, object]:
    """Residues and seeds of the keys, which travel packed."""
    found = {
        "relinearization": wire.read_switching_key(keys.relinearization, PARAMS),
        "conjugation": wire.read_switching_key(keys.galois, PARAMS),
    }
    return {
        name: {
            "shape": list(first.shape),
            "first": base64.b64encode(first.astype("<u4").tobytes()).decode(),
            "seeds": [seed.tobytes().hex() for seed in seeds],
        }
        for name, (first, seeds) in found.items()
    }


def document(replayed, keys: PublicKeys) -> dict[str, object]:
    """The whole file."""
    return {
        "about": " ".join((__doc__ or "").split()),
        "ring_degree": N,
        "primes": list(PRIMES),
        "special_prime": PARAMS.special_prime,
        "public_key": base64.b64encode(keys.encryption).decode(),
        "relinearization_key": base64.b64encode(keys.relinearization).decode(),
        "conjugation_key": base64.b64encode(keys.galois).decode(),
        "vectors": {**replayed, "encoding": encoding(), "masks": masks()},
        "switching_keys": switching_keys(keys),
        "mask_inputs": mask_inputs(),
    }
