"""What leaves an encryption for the student: a release is a file here and a line of the register.

Nothing here knows arrays, ciphertexts or participants: protocol, circuits and exchanges read it.
"""

from __future__ import annotations

from securefair.releases.interface import Asked, Release
from securefair.releases.register import (
    EXCHANGED,
    REGISTERED,
    TRAINING,
    release_of,
)

__all__ = ["EXCHANGED", "REGISTERED", "TRAINING", "Asked", "Release", "release_of"]
