"""The register of sums of fits: a new one is a file and one line of `config.registers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from securefair.config.registers import SUMS, looked_up
from securefair.errors import ConfigError
from securefair.words import Words, words_of

if TYPE_CHECKING:
    from securefair.model.transfer.sums.interface import FitSum

REGISTERED = SUMS
"""Where each sum stands, by the word that a configuration uses."""

AUTO = "gradient"
"""What is added up unless the settings say else."""


def sum_of(name: str, *, evidence: bool = True, squares: bool = False) -> FitSum | None:
    """The sum of that name; None where fits are asked about patients, under encryption.

    Args:
        name: of the register, or `NONE`.
        evidence, squares: see `FitSum`.
    """
    if name not in REGISTERED:
        return None
    return _found(name)(evidence=evidence, squares=squares)


NONE = "none"
"""Fits are asked about patients, under encryption, and nothing is summed but answers."""


@dataclass(frozen=True)
class ChosenSum:
    """What hospitals add up, and why.

    Attributes:
        name: of the register, or `NONE`.
        reason: why, a key of `securefair.words`: "because.settings" or another of these.
        values: of that text.
    """

    name: str
    reason: str
    values: Mapping[str, object] = field(default_factory=dict)

    def told(self, words: Words) -> str:
        """The reason in a language, part of a sentence after "because"."""
        return words(self.reason, **self.values)

    @property
    def because(self) -> str:
        """The reason in English."""
        return self.told(words_of())


def choose_sum(
    wanted: str,
    teachers: int,
    *,
    linear: bool,
    measured: bool = True,
    private: bool,
    brought: bool,
    opened: str,
) -> ChosenSum:
    """What a student of so many teachers asks for; "auto" leaves it to the rule.

    Sums of linear fits need no encryption, from so many hospitals on that answers would tell single
    fits no less. Elsewhere fits are asked about patients.

    Args:
        wanted: of the settings: "auto", `NONE`, or a sum of the register.
        teachers: fewest of any student.
        linear: everybody answers from a linear fit of the features.
        measured: sums are measured for the outcome.
        private: answers come from private models, which promise nothing for a sum of others.
        brought: somebody answers by a model that it brings, which is no fit to be added.
        opened: of the settings; "each" answer cannot be opened in a sum.

    Raises:
        ConfigError: a sum is wanted that these settings do not allow.
    """
    fewest = _found(wanted if wanted in REGISTERED else AUTO).fewest
    obstacles = (
        (not linear, "transfer.fit", ChosenSum(NONE, "because.not_linear")),
        (not measured, "outcome", ChosenSum(NONE, "because.outcome")),
        (private, "privacy", ChosenSum(NONE, "because.private")),
        (brought, "teacher", ChosenSum(NONE, "because.brought")),
        (opened == "each", "transfer.opened", ChosenSum(NONE, "because.each")),
        (
            teachers < fewest,
            "participants",
            ChosenSum(
                NONE,
                f"because.few.{'one' if teachers == 1 else 'many'}",
                {"number": teachers, "fewest": fewest},
            ),
        ),
    )
    found = next(((where, why) for holds, where, why in obstacles if holds), None)
    if wanted in REGISTERED:
        if found is not None:
            raise ConfigError(
                "hospitals cannot add up what their fits know",
                where="transfer.sums",
                found=f"{wanted}, and {found[1].because}",
                expected=f'"{NONE}" or "auto", or other {found[0]}',
            )
        return ChosenSum(wanted, "because.settings")
    if wanted == NONE:
        return ChosenSum(NONE, "because.settings")
    if found is not None:
        return found[1]
    return ChosenSum(AUTO, "because.linear", {"fewest": fewest})


def _found(name: str) -> type[FitSum]:
    found: type[FitSum] = looked_up(REGISTERED, name, "SUM", problem="there is no such sum")
    return found
