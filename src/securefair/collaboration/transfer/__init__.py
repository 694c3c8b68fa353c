"""Transfer: one answer from every teacher, taken as an offset of one's own fit.

own fits -> keys for masks -> features to the teachers, encrypted -> masked answers
         -> their sum, or each of them -> mean logit -> settings averaged -> deployed model
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.collaboration.transfer.agreement import TransferAgreement as TransferAgreement
    from securefair.collaboration.transfer.host import TransferHost as TransferHost
    from securefair.collaboration.transfer.observer import TransferObserver as TransferObserver

__getattr__, __dir__, __all__ = on_first_use(__name__)
