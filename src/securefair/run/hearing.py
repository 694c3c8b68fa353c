"""Who hears of the rounds of a run, and which they have heard: written down beside the checkpoint.

A process may end with rounds that are finished and that nobody was told of: parts are computed in
processes of their own, and told in the order of one. Whoever goes on tells these first.
"""

from __future__ import annotations

from collections.abc import Sequence

from securefair.records import RoundRecord
from securefair.run.callbacks import Callback
from securefair.run.parts import Part


class Hearing:
    """Tells callbacks of rounds in which participants learn from each other.

    Args:
        callbacks: hear of every round once, whatever process computed it.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks = callbacks

    def __call__(self, part: Part, record: RoundRecord) -> None:
        """A round is over."""
        if not self._callbacks or part.controls or part.small:
            return
        for callback in self._callbacks:
            callback.on_round(record)
        if part.checkpoint is not None:
            # After them: a round may be told twice, and none is lost.
            with part.checkpoint.heard(part.seed, part.name).open("ab") as file:
                file.write(b"\n")

    def catch_up(self, parts: Sequence[Part]) -> None:
        """Tell what earlier processes have finished and told nobody of.

        Raises:
            DataError: a file of the checkpoint is damaged.
        """
        for part in parts:
            checkpoint = part.checkpoint
            if not self._callbacks or part.controls or part.small or checkpoint is None:
                continue
            entry = checkpoint.entry(part.seed, part.name)
            if part.begins_anew(entry):
                continue  # it will be told of all its rounds
            heard = checkpoint.heard(part.seed, part.name)
            told = heard.stat().st_size if heard.exists() else 0
            for record in entry.rounds[told:]:
                self(part, part.stamped(record))
