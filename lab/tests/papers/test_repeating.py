"""New numbers beside stored ones: what repeats, and what cannot be compared."""

from __future__ import annotations

from math import inf
from statistics import mean, pstdev

import msgspec
import pytest

from securefair.errors import ConfigError
from securefair_lab.papers.comparison import ClaimResult, ComparedNumber, Comparison
from securefair_lab.papers.origin import Origin
from securefair_lab.papers.repeating import repetition
from securefair_lab.papers.verdicts import Verdict

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
                ours=mean(each),
                spread=pstdev(each),
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
    assert (found.numbers, found.different, found.apart) == (1, {}, [])
    assert found.status == "equal"


def test_the_largest_difference_and_the_machine_are_told() -> None:
    elsewhere = msgspec.structs.replace(HERE, processor="new", threads=2)
    found = repetition(comparison(1.0, 2.0), comparison(1.1, 2.5, origin=elsewhere))
    assert found.different == {"method VPDL, MCG": 0.5}
    assert found.apart == ["processor: old, now new", "threads: 1, now 2"]
    assert (found.status, found.beyond) == ("within", [])


def test_a_mean_that_moves_by_more_than_seeds_differ_is_named() -> None:
    found = repetition(comparison(1.0, 1.2), comparison(2.0, 2.2))
    assert (found.beyond, found.status) == (["method VPDL, MCG"], "flipped")


@pytest.mark.parametrize(("moved", "status"), [(1, "within"), (2, "within"), (3, "flipped")])
def test_a_tenth_of_means_may_move_by_more(moved: int, status: str) -> None:
    def twenty(shifted: int) -> Comparison:
        one = comparison(1.0, 1.2)
        return msgspec.structs.replace(
            one,
            numbers=[
                msgspec.structs.replace(
                    number, metric=f"{at}", each=[by + own for own in number.each]
                )
                for at in range(20)
                for number, by in [(one.numbers[0], 1.0 if at < shifted else 0.0)]
            ],
        )

    found = repetition(twenty(0), twenty(moved))
    assert (len(found.beyond), found.status) == (moved, status)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (comparison(1.0, origin=msgspec.structs.replace(HERE, code="bb")), "code: bb, now aa"),
        (comparison(1.0, origin=None), "code: not stored, now aa"),
        (comparison(1.0, 2.0), "seeds: 2, now 1"),
    ],
)
def test_other_code_and_seeds_are_told_and_compared(stored: Comparison, told: str) -> None:
    found = repetition(stored, comparison(1.0))
    assert told in found.apart
    assert found.different == {}


def test_a_number_that_one_side_lacks_differs() -> None:
    found = repetition(comparison(1.0), msgspec.structs.replace(comparison(1.0), numbers=[]))
    assert found.different == {"method VPDL, MCG": inf}


def test_nothing_to_compare_is_missing() -> None:
    nothing = msgspec.structs.replace(comparison(1.0), numbers=[])
    assert repetition(nothing, nothing).status == "missing"
    assert repetition(comparison(1.0), nothing).status == "missing"


def test_claims_that_one_side_lacks_are_missing() -> None:
    found = repetition(judged("holds"), comparison(1.0))
    assert (found.status, found.lacking) == ("missing", ["It is so"])


def test_fewer_seeds_are_compared_with_the_same_seeds_and_never_equal() -> None:
    found = repetition(comparison(1.0, 9.0, 9.2), comparison(1.0))
    assert (found.different, found.beyond) == ({}, [])
    assert (found.status, found.lacking) == ("missing", ["1 of 3 seeds"])


def judged(verdict: Verdict) -> Comparison:
    claims = [ClaimResult(claim="It is so", verdict=verdict)]
    return msgspec.structs.replace(comparison(1.0), claims=claims)


def test_a_claim_that_turns_is_a_flip_and_one_that_cannot_be_told_is_none() -> None:
    turned = repetition(judged("holds"), judged("fails"))
    assert (turned.status, turned.flipped) == ("flipped", ["It is so"])
    moved = repetition(judged("holds"), judged("cannot be told"))
    assert (moved.status, moved.flipped, moved.moved) == ("within", [], ["It is so"])
    assert repetition(judged("holds"), judged("holds")).status == "equal"


@pytest.mark.parametrize("name", ["experiment", "size"])
def test_other_experiments_and_sizes_are_refused(name: str) -> None:
    other = msgspec.structs.replace(comparison(1.0), **{name: "smoke"})
    with pytest.raises(ConfigError, match=f"another {name}"):
        repetition(other, comparison(1.0))
