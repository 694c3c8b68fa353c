"""Write lab/src/securefair_lab/papers/listing.json, what `securefair reproduce --list` tells.

python scripts/list_experiments.py
"""

from __future__ import annotations

from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.listing import FILE, written


def main() -> None:
    """Replaces the file."""
    FILE.write_bytes(written(EXPERIMENTS.values()))


if __name__ == "__main__":
    main()
