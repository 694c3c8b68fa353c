"""A search for inputs that exceed a planned bound: the long form of tests/contract.

python scripts/worst_inputs.py rns --evaluations 2000
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from contract.test_worst_inputs import SPECS
from contract.worst_inputs import Search


def main() -> int:
    """Status 1 if a bound was exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backend")
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = {}
    for hidden, spec in SPECS.items():
        search = Search(spec, args.backend)
        worst = search.worst(args.evaluations, args.seed)
        found[f"hidden {hidden}"] = {"answers": search.answered, "worst": worst}
        print(json.dumps(found), flush=True)
    return int(any(one["worst"] > 1 for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
