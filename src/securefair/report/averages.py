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
from securefair.report.wording import data_size, duration
from securefair.words import Words


def protection(result: EncryptionResult, averaging: AveragingResult, words: Words) -> str:
    """Whether gradients and models were protected, in a few sentences."""
    if not averaging.hides_parameters:
        how = words.phrase(averaging_kind(averaging.averaging).exposed)
        compared = words(
            "encryption.gradients_hidden" if encrypts(result) else "encryption.gradients_open"
        )
        return words("encryption.exposed", how=how, compared=compared)
    if not encrypts(result):
        return words("encryption.compared_clear")
    weights = (
        "hidden" if averaging.hides_weights else "own" if averaging.max_share is None else "all"
    )
    return words(
        "encryption.compared",
        bits=result.security_bits,
        least=averaging.min_senders,
        weights=words(f"encryption.weights_{weights}"),
    )


def cost(
    result: EncryptionResult, averaging: AveragingResult, repetitions: int, words: Words
) -> str:
    """Bytes, time and precision over all repetitions."""
    values: dict[str, object] = {
        "seconds": words.figure(duration(result.seconds)),
        "up": words.size(data_size(result.bytes_up)),
        "down": words.size(data_size(result.bytes_down)),
    }
    said = [
        words("cost.averaged", **values)
        if repetitions == 1
        else words("cost.averaged_all", repetitions=repetitions, **values)
    ]
    if averaging.kept_own:
        times = words.either("counts.times", averaging.kept_own)
        said.append(words("cost.kept", times=times, fewest=averaging.min_senders))
    if averaging.lost:
        said.append(words("cost.lost", times=words.either("counts.times", averaging.lost)))
    error, average, cosine = (
        words.figure(f"{bound:.1e}")
        for bound in (
            result.max_abs_error,
            averaging.average_error_bound,
            averaging.cosine_error_bound,
        )
    )
    return " ".join([*said, words("cost.off", error=error, average=average, cosine=cosine)])


def weights(last: RoundRecord, names: Sequence[str], words: Words) -> list[str]:
    """Whose model each participant gives most weight, in one round."""
    rows = zip(names, last.reputation, strict=True)
    return [weights_of(name, row, names, words) for name, row in rows]


def weights_of(name: str, row: Sequence[float | None], peers: Sequence[str], words: Words) -> str:
    """Whose model one participant gives most weight, by its row of weights."""
    known = [(value, peer) for value, peer in zip(row, peers, strict=True) if value is not None]
    if not known:
        return words("weights.unknown", name=name)
    (high, best), own = max(known), 1 - sum(value for value, _ in known)
    return words(
        "weights.most", name=name, best=best, high=words.decimal(high, 2), own=words.decimal(own, 2)
    )


def disclosure(one: SenderDisclosure, words: Words) -> str:
    """What one participant let out, in words."""
    if not one.sums and not one.cosines:
        return words("ledger.nothing", name=one.sender)
    return words(
        "ledger.cosines",
        name=one.sender,
        cosines=words.either("counts.cosines", one.cosines),
        parameters=words.count(one.parameters),
        sums=words.either("counts.sums", one.sums),
        receivers=words.either("counts.receivers", one.receivers),
    )
