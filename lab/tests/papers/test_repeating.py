"""New numbers beside stored ones: what repeats, and what cannot be compared."""

from __future__ import annotations

import msgspec
import pytest

from securefair.errors import ConfigError
from securefair_lab.papers.comparison import ComparedNumber, Comparison
from securefair_lab.papers.origin import Origin
from securefair_lab.papers.repeating import repetition

HERE = Origin(
    version="1",
    code="aa",
    libraries={"torch": "2"},
    python="3",
    processor="old",
    kernels="AVX2",
    threads=1,
    device="cpu",
)


def comparison(*each: float, origin: Origin | None = HERE, experiment: str = "any") -> Comparison:
    return Comparison(
        experiment=experiment,
        paper="cycle",
        item="Table 1",
        size="cpu",
        seeds=len(each),
        unit="percent",
        note="",
        numbers=[
            ComparedNumber(
                fields={"method": "VPDL", "model": None},
                metric="MCG",
                ours=0.0,
                spread=0.0,
                paper=None,
                difference=None,
                each=list(each),
            )
        ],
        claims=[],
        origins=[] if origin is None else [origin],
    )


def test_equal_numbers_repeat() -> None:
    found = repetition(comparison(1.0, 2.0), comparison(1.0, 2.0))
    assert (found.numbers, found.different, found.machines) == (1, [], [])


def test_the_largest_difference_and_the_machine_are_told() -> None:
    elsewhere = msgspec.structs.replace(HERE, processor="new", threads=2)
    found = repetition(comparison(1.0, 2.0), comparison(1.1, 2.5, origin=elsewhere))
    assert found.different == [("method VPDL, MCG", 0.5)]
    assert found.machines == ["processor: old, now new", "threads: 1, now 2"]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (comparison(1.0, origin=msgspec.structs.replace(HERE, code="bb")), "another code"),
        (comparison(1.0, origin=None), "not stored"),
        (comparison(1.0, 2.0), "another seeds"),
        (comparison(1.0, experiment="other"), "another experiment"),
    ],
)
def test_what_cannot_be_compared_is_refused(stored: Comparison, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        repetition(stored, comparison(1.0))
