"""Validation: how good is everybody's model on everybody else's patients? Nobody learns from it.

own patients, encrypted -> every peer's fit or model -> its logits, opened one by one
                        -> scores with what is known of these patients: one page a peer
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.collaboration.validation.agreement import (
        ValidationAgreement as ValidationAgreement,
    )
    from securefair.collaboration.validation.host import ValidationHost as ValidationHost

__getattr__, __dir__, __all__ = on_first_use(__name__)
