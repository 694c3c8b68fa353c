"""What a site's report remarks of a round: who was away, and why there is no answer or no sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from securefair.collaboration.host import Role
from securefair.collaboration.observer import SiteRecord
from securefair.model.transfer import ALL
from securefair.protocol.settings import SumSettings
from securefair.report.presence import PeerLife


def remarks_of(
    records: Sequence[SiteRecord], role: Role, sums: SumSettings | None
) -> Iterator[str]:
    """A line for each of a site's rounds; often empty.

    Args:
        records: of the rounds, the first one first.
        role: of the site.
        sums: that it asks for; None: answers are opened by themselves.
    """
    offered = Counter[str]()
    for record in records:
        remarks = [f"{name} {PeerLife.AWAY}" for name in record.away]
        if role == "teacher":  # who waits for nobody does not know who was there, and opens no sum
            remarks = []
        elif record.sum_error:
            remarks.append(record.sum_error)
        elif sums is not None and not record.combined:
            remarks += _without_sum(record, sums, offered)
        offered.update(record.offered)
        refused = dict.fromkeys((*record.failed, *record.doubted))
        remarks += [_failed(name, doubted=name in record.doubted) for name in refused]
        if record.left_out:
            what = "the mean" if record.left_out == (ALL,) else ", ".join(record.left_out)
            remarks.append(f"left out {what}: its answers are no function of the features")
        remarks += [f"{peer} declined ({reason})" for peer, reason in record.sum_declined.items()]
        yield "; ".join(remarks + ([record.step_error] if record.step_error else []))


def _without_sum(record: SiteRecord, sums: SumSettings, offered: Counter[str]) -> Iterator[str]:
    """Why a round has no sum.

    Args:
        record: of the round.
        sums: that were agreed on.
        offered: in how many rounds before each neighbour offered its model.
    """
    if record.offered or record.lost:
        yield "too few peers for a sum"
    elif sums.averages:
        fewest, most = sums.fewest(sums.name), sums.max_sums
        there = [name for name in sums.neighbours if name not in record.away]
        spent = [name for name in there if most is not None and offered[name] >= most]
        if len(there) < fewest:
            yield "too few peers for a sum"
        elif len(there) - len(spent) < fewest:
            yield "budget of sums used up (gossip.max_sums)"
        else:
            yield "nobody offered its model"


def _failed(name: str, *, doubted: bool) -> str:
    if doubted:
        return f"answer of {name} refused by a statistical test, which 1 of 1,000 honest ones fails"
    return f"no answer of {name} could be used"
