"""What a coverage-guided fuzzer kept and found, replayed: nothing but refusals by name."""

import json
from pathlib import Path

import numpy as np
import pytest

from contract import strangers
from securefair.errors import EncryptionError
from support.moves import play

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "fuzzed.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("way", sorted(strangers.TARGETS))
def test_bytes_of_strangers_are_read_or_refused(way):
    kept = VECTORS[way]
    assert kept
    for data in kept:
        strangers.TARGETS[way](bytes.fromhex(data))


def test_kept_sequences_of_machines_get_somewhere():
    """Rounds end, and somebody notices what was forged."""
    worlds = [play(bytes.fromhex(data)) for data in VECTORS["machines"]]
    assert sum(len(over) for world in worlds for over in world.overs.values()) > len(worlds)
    assert any(world.blames for world in worlds)


def test_an_answer_that_opens_to_no_number_is_refused():
    """Found by the fuzzer: NaN is not beyond any bound. Only `clear` can open to it."""
    student = strangers._student()
    numbers = np.zeros((2, 2))
    assert np.isfinite(student.open_evaluated(numbers.astype("<f8").tobytes()).released).all()
    for bad in (np.nan, np.inf):
        numbers[1, 1] = bad
        with pytest.raises(EncryptionError, match="out of range"):
            student.open_evaluated(numbers.astype("<f8").tobytes())
