"""The register of sums of fits: a new one is a file and one line of `config.registers`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from securefair.config.registers import SUMS
from securefair.errors import ConfigError

if TYPE_CHECKING:
    from securefair.model.transfer.sums.interface import FitSum

REGISTERED = SUMS
"""Where each sum stands, by the word that a configuration uses."""

AUTO = "gradient"
"""What is added up unless the settings say else."""


def sum_of(name: str) -> FitSum | None:
    """The sum of that name; None where fits are asked about patients, under encryption."""
    if name not in REGISTERED:
        return None
    return _found(name)


NONE = "none"
"""Fits are asked about patients, under encryption, and nothing is summed but answers."""


@dataclass(frozen=True)
class ChosenSum:
    """What hospitals add up, and why.

    Attributes:
        name: of the register, or `NONE`.
        because: the reason, part of a sentence after "because".
    """

    name: str
    because: str


def choose_sum(
    wanted: str, teachers: int, *, linear: bool, private: bool, brought: bool, opened: str
) -> ChosenSum:
    """What a student of so many teachers asks for; "auto" leaves it to the rule.

    Sums of linear fits need no encryption, from so many hospitals on that answers would tell single
    fits no less. Elsewhere fits are asked about patients.

    Args:
        wanted: of the settings: "auto", `NONE`, or a sum of the register.
        teachers: fewest of any student.
        linear: everybody answers from a linear fit of the features.
        private: answers come from private models, which promise nothing for a sum of others.
        brought: somebody answers by a model that it brings, which is no fit to be added.
        opened: of the settings; "each" answer cannot be opened in a sum.

    Raises:
        ConfigError: a sum is wanted that these settings do not allow.
    """
    fewest = _found(wanted if wanted in REGISTERED else AUTO).fewest
    obstacles = (
        (not linear, "transfer.fit", "answers are of no linear fit"),
        (private, "privacy", "answers come from private models"),
        (brought, "teacher", "a hospital answers by a model that it brings"),
        (opened == "each", "transfer.opened", "every answer is to be opened by itself"),
        (
            teachers < fewest,
            "participants",
            f"a hospital has {teachers} {'other' if teachers == 1 else 'others'}, and a sum "
            f"needs {fewest}",
        ),
    )
    found = next(((where, why) for holds, where, why in obstacles if holds), None)
    if wanted in REGISTERED:
        if found is not None:
            raise ConfigError(
                "hospitals cannot add up what their fits know",
                where="transfer.sums",
                found=f"{wanted}, and {found[1]}",
                expected=f'"{NONE}" or "auto", or another {found[0]}',
            )
        return ChosenSum(wanted, "the settings say so")
    if wanted == NONE:
        return ChosenSum(NONE, "the settings say so")
    if found is not None:
        return ChosenSum(NONE, found[1])
    return ChosenSum(AUTO, f"fits are linear, and every hospital has {fewest} others or more")


def _found(name: str) -> FitSum:
    found: FitSum = import_module(REGISTERED[name]).SUM
    return found
