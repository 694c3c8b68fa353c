"""Table 1 together: who the patients of all hospitals are, by sums under masks.

`cells` counts a hospital's own patients, `rules` says which cells may be told, `sums` adds them up
under masks, `ledger` remembers what was told before, `table_one` goes from everybody's samples to
the table.
"""

from securefair.collaboration.describing.ledger import ToldCounts
from securefair.collaboration.describing.table_one import (
    Described,
    DescribedRow,
    describe_config,
    describe_samples,
)

__all__ = ["Described", "DescribedRow", "ToldCounts", "describe_config", "describe_samples"]
