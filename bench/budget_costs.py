"""What bounds on what flows back cost: time, bytes and accuracy of the demonstration's hospitals.

    python bench/budget_costs.py --seeds 1

Every line differs from the first of its group in one setting, which turns a measure off or on. The
tables are in docs/notebook/profiling.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console

from securefair.collaboration.resolved import ResolvedRun
from securefair.config import RunConfig, demo_config, load_config, override
from securefair.report.progress import show_progress
from securefair.run.execute import run_resolved

NEVER = 1e9
VARIANTS: dict[str, dict[str, dict[str, object]]] = {
    "vpdl": {
        "as it is": {},
        "not clipped": {"distillation.sample_clip": NEVER, "distillation.answer_clip": NEVER},
        "roles apart": {
            "distillation.roles": "apart",
            "distillation.teachers": ["Cleveland", "Hungary"],
        },
    },
    "cycle": {
        "as it is": {},
        "not clipped": {"distillation.sample_clip": NEVER, "distillation.answer_clip": NEVER},
        "a new key every 16 bits": {"encryption.key_bits": 16.0},
    },
    "cycle-gossip": {
        "as it is": {},
        "fine weights": {"gossip.levels": 1 << 20},
        "a new key every 16 bits": {"encryption.key_bits": 16.0},
        "six sums": {"gossip.max_sums": 6},
        "three sums": {"gossip.max_sums": 3},
        "one sum": {"gossip.max_sums": 1},
    },
}


def configured(name: str) -> RunConfig:
    """The hospitals of the demonstration, or of the example for averages."""
    if name == "cycle-gossip":
        return load_config(Path(__file__).parents[1] / "examples" / "gossip_hospitals.toml")
    return demo_config()


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--algorithms", nargs="*", default=sorted(VARIANTS))
    args = parser.parse_args()
    print("| algorithm | variant | accuracy | MB | processor seconds |")
    print("|---|---|---|---|---|")
    for name in args.algorithms:
        for variant, changes in VARIANTS[name].items():
            config = override(
                configured(name),
                {
                    "run.seeds": list(range(args.seeds)),
                    "run.algorithms": ["standalone", name],
                    "training.rounds": 20,
                    "run.smaller": None,
                    **changes,
                },
            )
            began = time.process_time()
            with show_progress(Console(quiet=True)) as progress:
                result = run_resolved(ResolvedRun.of(config), progress).result
            facts, found = result.encryption, result.algorithms[name]
            size = 0 if facts is None else (facts.bytes_up + facts.bytes_down) / 1e6
            spent = time.process_time() - began
            print(
                f"| {name} | {variant} | {100 * found.mva:.1f} ± {100 * found.mva_spread:.1f} "
                f"| {size / args.seeds:.1f} | {spent / args.seeds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
