"""Whom a participant listens to and whom it answers.

Place in the flow: released distillation terms -> **alignment -> reputation -> sharing decision**
-> optimizer step. Pure functions of numbers: nothing here knows models, ciphertexts or messages.
"""

from securefair.fairness.alignment import cosine
from securefair.fairness.reputation import ReputationRule
from securefair.fairness.sharing import (
    coin,
    distillation_weights,
    is_forced,
    peers_to_ask,
    shares,
)

__all__ = [
    "ReputationRule",
    "coin",
    "cosine",
    "distillation_weights",
    "is_forced",
    "peers_to_ask",
    "shares",
]
