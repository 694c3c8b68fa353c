"""Description: who are the patients of all hospitals? By sums under masks, and no record leaves.

own patients, counted -> sums of yes and no: which cells may be told
                      -> sums of those cells -> table 1: all together, beside the own patients
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.collaboration.table_one.agreement import TableAgreement as TableAgreement
    from securefair.collaboration.table_one.host import TableHost as TableHost

__getattr__, __dir__, __all__ = on_first_use(__name__)
