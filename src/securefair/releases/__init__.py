"""What leaves an encryption for the student: a release is a file here and a line of the register.

Nothing here knows arrays, ciphertexts or participants: protocol, circuits and exchanges read it.
"""

from __future__ import annotations

from securefair.releases.interface import Asked, Release
from securefair.releases.register import (
    REGISTERED,
    exchanged_releases,
    release_of,
    training_releases,
)

__all__ = [
    "REGISTERED",
    "Asked",
    "Release",
    "exchanged_releases",
    "release_of",
    "training_releases",
]
