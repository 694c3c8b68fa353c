"""What records say of averaged models, in sentences; `sentences` has those about answers.

Models of others are only ever added up, so the words differ: there are senders and receivers of
sums, and weights instead of reputations.
"""

from __future__ import annotations

from collections.abc import Sequence

from securefair.averaging import averaging_kind
from securefair.collaboration.wording import encrypts
from securefair.records import AveragingResult, EncryptionResult, RoundRecord
from securefair.report.facts import SenderDisclosure
from securefair.report.wording import (
    count,
    data_size,
    duration,
    plural,
)


def protection(result: EncryptionResult, averaging: AveragingResult) -> str:
    """Whether gradients and models were protected, in a few sentences."""
    if not averaging.hides_parameters:
        how = averaging_kind(averaging.averaging).exposed
        return f"The models in this run were not protected from the receivers of sums. {how}"
    if not encrypts(result):
        return (
            "Gradients were compared without encryption in this run: the clear backend follows "
            "every step on readable numbers. Use it for tests only."
        )
    weights = (
        "the weights stayed hidden from senders"
        if averaging.hides_weights
        else "a sender knew the weight that the receiver gave it"
        if averaging.max_share is None
        else "all senders of a sum knew its weights"
    )
    return (
        f"Gradients were compared under CKKS encryption with parameters for "
        f"{result.security_bits}-bit security. In each round a receiver saw one sum of "
        f"{averaging.min_senders} models or more and none by itself, as long as it followed the "
        f"protocol and sided with none of the senders; {weights}. Uneven sums, and those of many "
        "rounds together, tell more: see what is not protected."
    )


def cost(result: EncryptionResult, averaging: AveragingResult, repetitions: int) -> str:
    """Bytes, time and precision over all repetitions."""
    times = "" if repetitions == 1 else f" over all {repetitions} repetitions"
    skipped = ""
    if averaging.kept_own:
        skipped = (
            f" {_times(averaging.kept_own)} a participant kept its own model, because fewer than "
            f"{averaging.min_senders} shared theirs."
        )
    lost = ""
    if averaging.lost:
        lost = f" {_times(averaging.lost)} a sender was lost, and left out of the sum."
    return (
        f"It took {duration(result.seconds)}{times}, on the computer that ran this: "
        f"{data_size(result.bytes_up)} of requests and encrypted gradients, "
        f"{data_size(result.bytes_down)} of answers and parts of sums.{skipped}{lost} "
        f"Coordinates of averages were off by up to {result.max_abs_error:.1e}; the plan allows "
        f"{averaging.average_error_bound:.1e}, and {averaging.cosine_error_bound:.1e} in a cosine."
    )


def weights(last: RoundRecord, names: Sequence[str]) -> list[str]:
    """Whose model each participant gives most weight, in one round."""
    rows = zip(names, last.reputation, strict=True)
    return [weights_of(name, row, names) for name, row in rows]


def weights_of(name: str, row: Sequence[float | None], peers: Sequence[str]) -> str:
    """Whose model one participant gives most weight, by its row of weights."""
    known = [(value, peer) for value, peer in zip(row, peers, strict=True) if value is not None]
    if not known:
        return f"{name} has no neighbours."
    (high, best), own = max(known), 1 - sum(value for value, _ in known)
    return f"{name} gives {best} most weight ({high:.2f}), and itself {own:.2f}."


def disclosure(one: SenderDisclosure) -> str:
    """What one participant let out, in words."""
    if not one.sums and not one.cosines:
        return f"{one.sender} let out nothing."
    return (
        f"{one.sender} told {plural(one.cosines, 'cosine')} of its gradients with a neighbour's. "
        f"Its model of {count(one.parameters)} parameters was a part of "
        f"{plural(one.sums, 'sum')} for {plural(one.receivers, 'receiver')}."
    )


def _times(number: int) -> str:
    return "Once" if number == 1 else f"{count(number)} times"
