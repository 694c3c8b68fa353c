"""What a run that averages models will send and let out, before it runs."""

from __future__ import annotations

from securefair.averaging.shares import KEY_BYTES
from securefair.collaboration.forecast import CheckedAlgorithm, CheckedSums, Forecast
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.wording import told_in_the_open


def forecast_of(name: str, agreed: GossipAgreement) -> Forecast:
    """See `Kind.forecast`."""
    rounds = agreed.training.rounds
    cosines = -(-rounds // agreed.fairness.forced_every)
    return Forecast(
        traffic=_traffic(name, rounds, agreed),
        numbers=cosines + rounds * agreed.stacked.length,
        sums=_sums(agreed),
        warnings=_warnings(agreed),
    )


def _traffic(name: str, rounds: int, agreed: GossipAgreement) -> CheckedAlgorithm:
    """An answer is a cosine or a part of a sum; which parts there are is left to chance."""
    people = len(agreed.participants)
    edges = int(agreed.graph.sum()) - people  # in both directions
    inner, sums = agreed.alignment.inner, agreed.sum_plan
    cosines = edges * -(-rounds // agreed.fairness.forced_every)
    once = people * (people - 1) * (inner.public_key_bytes + sums.public_key_bytes)
    least = once + cosines * (inner.query_bytes + inner.answer_bytes)
    shared = edges * (rounds if agreed.max_sums is None else min(rounds, agreed.max_sums))
    part = sums.request_bytes + sums.share_bytes + KEY_BYTES
    return CheckedAlgorithm(
        name=name,
        least_answers=cosines,
        most_answers=cosines + shared,
        least_bytes=least,
        most_bytes=least + shared * part,
    )


def _sums(agreed: GossipAgreement) -> CheckedSums:
    inner, plan = agreed.alignment.inner, agreed.sum_plan
    return CheckedSums(
        averaging=agreed.gossip.averaging,
        hides_weights=agreed.sums.hides_weights,
        hides_parameters=agreed.sums.hides_parameters,
        network=agreed.network,
        parameters=agreed.stacked.length,
        edges=(int(agreed.graph.sum()) - len(agreed.participants)) // 2,
        min_senders=agreed.gossip.min_senders,
        max_share=agreed.gossip.max_share,
        max_sums=agreed.max_sums,
        query_bytes=inner.query_bytes,
        answer_bytes=inner.answer_bytes,
        request_bytes=plan.request_bytes,
        share_bytes=plan.share_bytes,
        sum_error=plan.error_bound,
        cosine_error=agreed.alignment.error_bound,
    )


LEAST_AVERAGED = 0.75
"""Share of the rounds in which models are averaged where nobody need think about it: some rounds
alone at the end fit them to the own patients."""


def cautions_of(agreed: GossipAgreement) -> list[str]:
    """What peers can read, where models or gradients are in the open; and who averages less often
    than there are rounds, or never."""
    found = told_in_the_open(agreed.encryption.backend, "gradients of whoever asks")
    if not agreed.sums.hides_parameters:
        found.append(
            f"Averaging {agreed.gossip.averaging} hides no model from whoever averages it: to "
            "compare with only (gossip.averaging)."
        )
    rounds, most = agreed.training.rounds, agreed.max_sums
    if most is not None and most < LEAST_AVERAGED * rounds:
        found.append(
            f"A model is offered to a neighbour in {most} of {rounds} rounds at most "
            "(gossip.max_sums); then everybody trains alone, for as many rounds as are left "
            "(training.rounds)."
        )
    few = [
        name
        for name in agreed.participants
        if len(agreed.neighbours_of(name)) < agreed.gossip.min_senders
    ]
    if few:
        found.append(
            f"{', '.join(few)} will never average: fewer than {agreed.gossip.min_senders} "
            "neighbours."
        )
    return found


def _warnings(agreed: GossipAgreement) -> list[str]:
    found = cautions_of(agreed)
    if agreed.sums.hides_weights:
        found.append(
            f"Averaging {agreed.gossip.averaging} hides weights from senders, so that nobody sees "
            "how uneven they are: a participant that breaks the protocol can read models out of "
            "one sum. Take masked where you do not trust all to follow it (gossip.averaging)."
        )
    return found
