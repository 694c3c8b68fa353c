"""How messages, bytes, memory and time of a transfer grow with hospitals, all in one process.

    python bench/growth.py 32 64 128 256 500

Sums of fits, as hospitals with linear fits have them by default: small random tables of eight
features, stores in memory. One line a number of hospitals; nothing here can fail on time.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter

import numpy as np

from securefair.collaboration import PublicFacts
from securefair.collaboration.agreement import Agreement
from securefair.collaboration.kinds import kind_of, narrowed
from securefair.config import demo_config
from securefair.data import ParticipantData, Samples
from securefair.sites.simulation.starting import simulated

FEATURES, PATIENTS = 8, 60


def hospital(number: int) -> ParticipantData:
    """Patients whose first feature tells their class, more or less."""
    draw = np.random.default_rng(number)
    features = draw.uniform(-1, 1, (PATIENTS, FEATURES)).astype(np.float32)
    labels = (features[:, 0] + draw.normal(0, 0.5, PATIENTS) > 0).astype(np.int64)
    half = PATIENTS // 2
    return ParticipantData(
        f"h{number:03d}",
        Samples(features[:half], labels[:half], 2),
        Samples(features[half:], labels[half:], 2),
    )


def traffic(count: int) -> tuple[Agreement, Counter[str], Counter[str]]:
    """What so many hospitals agree on, and messages and bytes of all of them, by message."""
    data = [hospital(number) for number in range(count)]
    config = narrowed(demo_config(), "transfer")
    section = config.transfer.model_copy(update={"sums": "auto"})
    config = config.model_copy(update={"transfer": section})
    kind = kind_of("transfer")
    agreement = kind.agree(config, PublicFacts.of(data), seed=0)
    run = simulated(kind, agreement, data, seed=0)
    list(run.rounds(1))
    messages, sizes = Counter[str](), Counter[str]()
    for row in run.traffic:
        messages[row.message] += row.count
        sizes[row.message] += row.bytes
    return agreement, messages, sizes


def main(count: int) -> None:
    """Print a line."""
    started = time.process_time()
    _, messages, sizes = traffic(count)
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    total = messages.total()
    print(
        f"{count} hospitals: {total} messages, {total / count:.1f} each, "
        f"{sizes.total() / 1e6:.1f} MB, "
        f"{memory:.2f} GB of memory, {seconds:.0f} s of the processor; "
        + ", ".join(f"{kind} {number}" for kind, number in sorted(messages.items()))
    )


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(int(argument))
