"""Teachers that normalise by the student's batch, and those that keep their own statistics."""

from __future__ import annotations

import pytest
import torch

from securefair_lab.papers.capride_batches import (
    ALONE,
    BATCH,
    CAPRIDE_BATCHES,
    EXTENTS,
    OWN,
    Answers,
    Everyone,
    Pixels,
    _augmented,
    _network,
    _pixels,
)
from securefair_lab.papers.capride_code import NUMBERS
from securefair_lab.papers.experiment import Row


def everyone() -> Everyone:
    train, _ = _pixels("smoke", None)
    held = [train.of(rows) for rows in torch.arange(200).chunk(2)]
    networks = [_network(1, seed) for seed in range(2)]
    return Everyone(EXTENTS["smoke"], held, networks, torch.Generator().manual_seed(0))


def state(people: Everyone, n: int) -> torch.Tensor:
    return torch.cat([own.flatten().float() for own in people.networks[n].state_dict().values()])


@pytest.mark.parametrize(("answers", "moves"), [(ALONE, False), (OWN, False), (BATCH, True)])
def test_only_teachers_in_training_mode_move_with_the_students_batch(
    answers: Answers, moves: bool
) -> None:
    people = everyone()
    student, teacher = state(people, 0), state(people, 1)
    people._step(0, people.held[0].of(torch.arange(64)), answers)
    assert not torch.equal(state(people, 0), student)
    assert torch.equal(state(people, 1), teacher) is not moves


def test_a_copy_goes_on_as_the_first() -> None:
    first = everyone()
    first.learn(0, ALONE)
    second = first.copied()
    first.learn(1, BATCH)
    second.learn(1, BATCH)
    torch.testing.assert_close(state(first, 0), state(second, 0), rtol=0, atol=0)


def test_images_are_shifted_and_mirrored_as_wholes() -> None:
    image = torch.zeros(1, 8, 8)
    image[0, 3, 3] = 1.0
    many = Pixels(image.expand(100, 1, 8, 8), torch.zeros(100)).images
    seen = _augmented(many, torch.Generator().manual_seed(0))
    assert seen.shape == many.shape
    assert torch.equal(seen.sum((1, 2, 3)), torch.ones(100))
    places = {tuple(place) for place in seen.nonzero()[:, 2:].tolist()}
    assert places == {(row, column) for row in (2, 3, 4) for column in (2, 3, 4, 5)}


@pytest.mark.parametrize(
    ("own", "batch", "expected"),
    [(1.0, 2.0, [True, True]), (3.0, 2.0, [False, True]), (-2.0, -1.0, [True, False])],
)
def test_claims(own: float, batch: float, expected: list[bool]) -> None:
    rows = [
        Row.of({"n": n, "answers": answers}, {"MCG": [gain]}, {})
        for n in NUMBERS
        for answers, gain in ((ALONE, 0.0), (OWN, own), (BATCH, batch))
    ]
    assert [claim.holds(rows) for claim in CAPRIDE_BATCHES.claims] == expected
