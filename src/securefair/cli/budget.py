"""`securefair budget`: what a hospital's answers have cost its patients so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.options import JsonOption
from securefair.report.telling import say, say_json


def budget(
    store: Annotated[
        Path, typer.Argument(help="Folder of a store: `privacy.store`, or a site's `store`.")
    ],
    json: JsonOption = False,
) -> None:
    """Show what all runs on a store have cost the patients: epsilon, delta, and what they mean.

    Reads only, also while a run or a site has the store open.

    Example: securefair budget clinic-store
    """

    from securefair.privacy.durable import costs_in
    from securefair.privacy.guarantees import meaning_of

    costs = costs_in(store)
    if json:
        say_json(costs)
        return
    if not costs:
        say("No private fit was charged to this store.")
    for hospital, cost in costs.items():
        fits, alignments = (
            f"{count} private {what}{'s' * (count != 1)}"
            for count, what in ((cost.fits, "fit"), (cost.alignments, "alignment"))
        )
        say(f"{hospital}: {fits}, {alignments}")
        if cost.recoveries:
            again = "once more" if cost.recoveries == 1 else f"{cost.recoveries} times more"
            say(f"  Recovered: nobody knows what was charged before. The limit counts {again}.")
        for whose, spent, events in (
            ("Behind its model", cost.behind_the_model, cost.fits),
            ("Asked about", cost.asked_about, cost.alignments),
            ("Together, for a patient of both", cost.together, cost.fits * cost.alignments),
        ):
            if events or cost.recoveries:
                say(f"  {whose}: epsilon {spent.epsilon:.3g}, delta {spent.delta:.1e}")
        say(f"  {meaning_of(cost.together.epsilon, cost.together.delta)}")
