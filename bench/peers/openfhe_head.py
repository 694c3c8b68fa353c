"""The head in OpenFHE as its Python users would write it at best; runs under OpenFHE's interpreter.

    python openfhe_head.py WORK.npz RESULT.npz PROCESSES

Batched: a slot a sample, a ciphertext a feature, layers by `EvalLinearWSum`. OpenFHE's own threads
are erratic on few cores, so each process computes its share of the hidden units with one, and what
they contribute to the logits is added. Needs nothing but numpy and openfhe.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from typing import Any

import numpy as np
import openfhe

SCALE_BITS, FIRST_BITS, PRODUCTS, RING = 35, 50, 3, 8192
"""As in TenSEAL's part of the comparison: 155 bits; BV key switching needs no special primes."""


def make_context(slots: int) -> Any:
    spec = openfhe.CCParamsCKKSRNS()
    spec.SetSecurityLevel(openfhe.HEStd_128_classic)
    spec.SetScalingTechnique(openfhe.FIXEDAUTO)
    spec.SetKeySwitchTechnique(openfhe.BV)
    spec.SetMultiplicativeDepth(PRODUCTS)
    spec.SetScalingModSize(SCALE_BITS)
    spec.SetFirstModSize(FIRST_BITS)
    spec.SetRingDim(RING)
    spec.SetBatchSize(slots)
    context = openfhe.GenCryptoContext(spec)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE, openfhe.ADVANCEDSHE):
        context.Enable(feature)
    return context


def share(context: Any, work: Any, features: list[Any], units: range) -> list[Any]:
    """What these hidden units contribute to every logit, without its bias."""
    squares = []
    for unit in units:
        value = context.EvalLinearWSum(features, work["w1"][:, unit].tolist())
        squares.append(context.EvalSquare(context.EvalAdd(value, float(work["b1"][unit]))))
    return [context.EvalLinearWSum(squares, row.tolist()) for row in work["w2"][units].T]


def infer(context: Any, work: Any, features: list[Any], processes: int) -> list[Any]:
    """Encrypted logits; the children inherit keys and ciphertexts, and write theirs as bytes."""
    hidden, fork = len(work["b1"]), multiprocessing.get_context("fork")
    shares = [range(first, hidden, processes) for first in range(processes)]

    def compute(units: range, pipe: Any) -> None:
        sums = share(context, work, features, units)
        pipe.send([openfhe.Serialize(one, openfhe.BINARY) for one in sums])

    pipes = []
    for units in shares[1:]:
        receiver, sender = fork.Pipe(duplex=False)
        fork.Process(target=compute, args=(units, sender), daemon=True).start()
        pipes.append(receiver)
    logits = share(context, work, features, shares[0])
    for pipe in pipes:
        others = [openfhe.DeserializeCiphertextString(one, openfhe.BINARY) for one in pipe.recv()]
        logits = [context.EvalAdd(x, y) for x, y in zip(logits, others, strict=True)]
    return [context.EvalAdd(x, float(b)) for x, b in zip(logits, work["b2"], strict=True)]


def main(work_file: str, result_file: str, processes: int) -> None:
    work = dict(np.load(work_file))
    samples = len(work["x"])
    context = make_context(RING // 2)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    features = [
        context.Encrypt(keys.secretKey, context.MakeCKKSPackedPlaintext(column))
        for column in work["x"].T
    ]
    input_bytes = sum(len(openfhe.Serialize(x, openfhe.BINARY)) for x in features)

    started = time.perf_counter()
    encrypted = infer(context, work, features, processes)
    seconds = time.perf_counter() - started

    logits = []
    for one in encrypted:
        plaintext = context.Decrypt(keys.secretKey, one)
        plaintext.SetLength(samples)
        logits.append(plaintext.GetRealPackedValue())
    np.savez(result_file, logits=np.array(logits).T, seconds=seconds, input_bytes=input_bytes)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
