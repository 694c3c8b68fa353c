"""What is counted, as agreed: columns and classes, which variables they make, and how many sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from securefair.collaboration.table_one.cells import Variable, variables_of
from securefair.config.columns import ColumnRule


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Of every hospital alike.

    Attributes:
        label: name of the outcome.
        columns: rules, in the order of the features.
        classes: names of the outcome's levels, such as whether an event came; none where it has
            none.
        within: agreed range of an outcome that is a number; None for others.
        hospitals: that must have patients in a cell for it to be told.
        others: hospitals in a sum.
        patients: most of a hospital.
    """

    label: str
    columns: Sequence[ColumnRule]
    classes: Sequence[str]
    hospitals: int
    others: int
    patients: int
    within: tuple[float, float] | None = None

    @cached_property
    def variables(self) -> list[Variable]:
        """That are described."""
        return variables_of(self.label, self.columns, self.classes, self.within)
