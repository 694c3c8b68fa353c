"""Encrypted distillation: VPDL and CYCle."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.collaboration.distillation.agreement import (
        DistillationAgreement as DistillationAgreement,
    )
    from securefair.collaboration.distillation.host import DistillingHost as DistillingHost
    from securefair.collaboration.distillation.observer import (
        DistillationObserver as DistillationObserver,
    )

__getattr__, __dir__, __all__ = on_first_use(__name__)
