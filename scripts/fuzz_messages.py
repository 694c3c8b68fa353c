"""Coverage-guided fuzzing (atheris) of what strangers send: frames, requests, answers, sums,
and what may happen to machines between them.

    .venv/bin/pip install --require-hashes --no-deps -r constraints/fuzz.txt
    python scripts/fuzz_messages.py TARGET CORPUS_FOLDER -max_total_time=600

TARGET is a name of `tests/contract/strangers.py`. A finding is whatever raises anything but a
SecureFairError; its bytes belong into tests/vectors/fuzzed.json, which a test replays.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

with atheris.instrument_imports(
    include=[
        "securefair.protocol",
        "securefair.exchange",
        "securefair.averaging",
        "securefair.ckks.backends.wire",
        "securefair.circuit",
    ]
):
    from contract import strangers


def main() -> None:
    """Hand over to the fuzzer; it ends by itself or at a finding."""
    target = strangers.TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: target(bytes(data)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
