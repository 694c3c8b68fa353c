"""Public tables from the folder of data sets: Adult, and those that forests grow on.

Place in the flow: the start of **a batch of samples**, for experiments on tables. The rules that
turn a table into features are public constants (`securefair.data.table`).
"""

from securefair_lab.data.tables.adult import load_adult
from securefair_lab.data.tables.forests import (
    load_auction,
    load_coimbra,
    load_maternal,
    load_naticus,
    load_students,
)

__all__ = [
    "load_adult",
    "load_auction",
    "load_coimbra",
    "load_maternal",
    "load_naticus",
    "load_students",
]
