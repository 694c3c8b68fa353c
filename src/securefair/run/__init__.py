"""Runs, what they leave behind, and how a collaboration is taken up again."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.run.entry import Entry as Entry
    from securefair.run.folder import read_run as read_run
    from securefair.run.results import Outcome as Outcome
    from securefair.run.rounds import ReferenceRun as ReferenceRun
    from securefair.run.rounds import run_rounds as run_rounds

__getattr__, __dir__, __all__ = on_first_use(__name__)
