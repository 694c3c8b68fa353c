"""The head in the DESILO FHE library; runs under an interpreter that can import desilofhe.

    python desilo_head.py WORK.npz RESULT.npz THREADS

Batched: a slot a sample, a ciphertext a feature, layers by `weighted_sum`. The library chooses ring
and primes itself, and offers no ring below 16,384: so half of its 8,192 slots stay empty for 4,096
samples. Its licence allows non-commercial use alone. So nothing here installs or imports it unless
somebody names such an interpreter.

This comparison uses the DESILO FHE library developed by DESILO Inc. (https://desilo.ai).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from desilofhe import Engine

PRODUCTS = 3
"""Linear layer, square, linear layer."""


def layer(engine: Any, inputs: list[Any], weights: Any, bias: Any) -> list[Any]:
    """W x + b: the first of the weights of `weighted_sum` is the constant."""
    return [
        engine.weighted_sum(inputs, [float(constant), *column.tolist()])
        for column, constant in zip(weights.T, bias, strict=True)
    ]


def infer(engine: Any, key: Any, work: Any, features: list[Any]) -> list[Any]:
    """Encrypted logits."""
    hidden = layer(engine, features, work["w1"], work["b1"])
    squares = [engine.square(value, key) for value in hidden]
    return layer(engine, squares, work["w2"], work["b2"])


def main(work_file: str, result_file: str, threads: int) -> None:
    work = dict(np.load(work_file))
    samples = len(work["x"])
    mode = {"mode": "parallel", "thread_count": threads} if threads > 1 else {"mode": "cpu"}
    engine = Engine(max_level=PRODUCTS, **mode)
    secret = engine.create_secret_key()
    key = engine.create_relinearization_key(secret)
    features = [engine.encrypt(column.copy(), secret) for column in work["x"].T]
    input_bytes = sum(len(engine.serialize_ciphertext(x)) for x in features)

    started = time.perf_counter()
    encrypted = infer(engine, key, work, features)
    seconds = time.perf_counter() - started

    logits = [np.real(engine.decrypt(one, secret))[:samples] for one in encrypted]
    np.savez(result_file, logits=np.array(logits).T, seconds=seconds, input_bytes=input_bytes)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
