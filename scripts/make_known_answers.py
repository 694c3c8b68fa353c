"""Write tests/vectors/known_answers.json with Microsoft SEAL; once a format, and never silently.

    python scripts/make_known_answers.py

Keys are drawn anew: only the vectors of relinearisation and of real part depend on them. Tests
replay the file on every backend that works on residues (tests/contract/test_known_answers.py).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from contract import known_answers
from securefair.ckks.backends import get_backend

TARGET = Path(__file__).parents[1] / "tests" / "vectors" / "known_answers.json"


def main() -> None:
    """Replaces the file."""
    backend = get_backend("seal")
    params = known_answers.PARAMS
    keys = backend.generate_keys(params, relinearization=params.limbs, galois=params.limbs).public
    with pytest.MonkeyPatch.context() as patch:
        replay = known_answers.Replay(backend, keys)
        found = known_answers.document(replay.answers(patch), keys)
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
