"""A part of an experiment's runs, for the tasks of a job array."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from securefair.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, counted from 1; parts differ by one run at most."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """ "3/16" -> the third of sixteen.

        Raises:
            ConfigError: it is no such text, or there is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise ConfigError(
                "this is no part of a whole",
                where="--shard",
                found=text,
                expected="I/N with I from 1 to N, such as 3/16",
            )
        return cls(int(found[1]), int(found[2]))

    def of(self, runs: Sequence[T]) -> Sequence[T]:
        """Its runs: every `count`th, so that long and short ones are spread over the parts."""
        return runs[self.index - 1 :: self.count]


WHOLE = Shard(1, 1)
