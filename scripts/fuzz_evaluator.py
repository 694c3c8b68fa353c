"""Equivalent expressions on one backend, for as long as it is let: the offline form of
tests/contract/test_equivalent_expressions.py.

    python scripts/fuzz_evaluator.py rns --pairs 100000 --out found.json

Writes after every pool of ciphertexts how many pairs were tried, the largest error over its bound
of each kind, and the pairs above 1. Those are failures: tests/vectors/equivalent.json keeps them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from contract import equivalent
from securefair.ckks.backends import get_backend
from securefair.errors import SecureFairError

PAIRS_OF_A_POOL = 1000


def main() -> int:
    """Status 1 if a pair failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backend")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--first-pool", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    backend = get_backend(args.backend)
    worst: dict[str, float] = {}
    failures: list[dict[str, object]] = []
    done, pool_seed = 0, args.first_pool
    while done < args.pairs:
        pool = equivalent.Pool(backend, pool_seed)
        for seed in range(min(PAIRS_OF_A_POOL, args.pairs - done)):
            try:
                name, share = equivalent.worst(pool, seed)
            except SecureFairError as error:
                failures.append({"pool": pool_seed, "pair": seed, "error": str(error)})
                continue
            worst[name] = max(worst.get(name, 0.0), share)
            if share > 1:
                failures.append({"pool": pool_seed, "pair": seed, "kind": name, "share": share})
        done += min(PAIRS_OF_A_POOL, args.pairs - done)
        pool_seed += 1
        facts = {"backend": args.backend, "pairs": done, "worst": worst, "failures": failures}
        args.out.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
