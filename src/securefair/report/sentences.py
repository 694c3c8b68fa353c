"""What happened, in sentences that a clinician can read and a cryptographer can agree with."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.collaboration.telling import Limit, Told
from securefair.collaboration.wording import encrypts
from securefair.model.outcomes import outcome_named
from securefair.records import (
    STANDALONE,
    EncryptionResult,
    RoundRecord,
    RunResult,
)
from securefair.report import averages
from securefair.report.wording import (
    algorithm_name,
    data_size,
    duration,
    points,
    with_spread,
)
from securefair.words import Words


def found_in(result: RunResult) -> list[str]:
    """What was found in the tables, in the words of whatever checked them."""
    return [f"{whose}: {one}" for whose, found in result.findings.items() for one in found]


def cautions(result: RunResult, words: Words) -> list[str]:
    """How far chance, or one frequent answer, could explain the result."""
    smallest = min(result.participants, key=lambda one: one.test_samples)
    plain = [one for one in result.participants if one.majority_accuracy >= one.accuracy]
    notes = []
    of_classes = outcome_named(result.outcome).tells_classes
    if of_classes:
        notes.append(
            words(
                "cautions.smallest",
                name=smallest.name,
                samples=words.either("counts.samples", smallest.test_samples),
                points=words.decimal(100 / smallest.test_samples, 1),
            )
        )
    if plain and of_classes:
        rates = [f"{one.name} ({words.percent(one.majority_accuracy, 1)})" for one in plain]
        notes.append(words("cautions.constant", rates=words.listing(rates)))
    if len(result.seeds) == 1:
        notes.append(words("cautions.one_seed"))
    else:
        notes.append(words("cautions.seeds", number=len(result.seeds), seed=result.seeds[0]))
    return notes


def control_note(result: RunResult, words: Words) -> list[str]:
    """What the mean gain is over every control, where there are several."""
    figure = result.algorithms[result.algorithm]
    if result.algorithm in result.controls or len(figure.gain_over) < 2:
        return []
    if not outcome_named(result.outcome).tells_classes:
        return []  # gains of accuracy
    over = [
        words(
            "cautions.over",
            gain=words.figure(with_spread(points(one.mean), one.mean_spread)),
            control=algorithm_name(control, words),
        )
        for control, one in figure.gain_over.items()
    ]
    return [words("cautions.gains", over=words.listing(over))]


def alone(result: RunResult, words: Words) -> Told:
    """What is told where no kind of collaboration tells anything: that everyone stayed alone, or,
    of a kind that is not known, only what holds for all.
    """
    people = words.either("counts.participants", len(result.participants))
    steps = [words("alone.fitted", people=people)] if result.algorithm == STANDALONE else []
    return Told(steps=steps, counted=words("ledger.counted"), limits=[])


def everywhere(words: Words, *, ranges_told: bool) -> list[Limit]:
    """What is protected in no kind of collaboration.

    Args:
        words: about these participants.
        ranges_told: whether ranges of columns come from patients.
    """
    ranges = (words("limits.ranges"), words("limits.ranges_text"))
    return [simulated(words), *([ranges] if ranges_told else [])]


def encryption(result: EncryptionResult | None, words: Words) -> str:
    """Whether the exchange was protected, in one sentence."""
    if result is None:
        return words("encryption.reference")
    if result.averaging is not None:
        return averages.protection(result, result.averaging, words)
    if not encrypts(result):
        return words("encryption.clear")
    return words(
        "encryption.ckks" if result.ring_degree else "encryption.masks", bits=result.security_bits
    )


def cost(result: RunResult, words: Words) -> str:
    """Bytes, time and precision of the encrypted exchanges over all repetitions."""
    facts = result.encryption
    if facts is None or not encrypts(facts):
        return ""
    seeds = len(result.seeds)
    if facts.averaging is not None:
        return averages.cost(facts, facts.averaging, seeds, words)
    values: dict[str, object] = {
        "name": algorithm_name(result.algorithm, words),
        "seconds": words.figure(duration(facts.seconds)),
        "answers": words.either("counts.answers", facts.answers),
        "up": words.size(data_size(facts.bytes_up)),
        "down": words.size(data_size(facts.bytes_down)),
    }
    took = words("cost.took", **values)
    if seeds > 1:
        took = words("cost.took_all", repetitions=seeds, **values)
    return f"{took} {error(facts, words)}"


def error(facts: EncryptionResult, words: Words) -> str:
    """How far opened values were off at most, what was planned, and of which spread that is.

    What a check says is over the public range of a value, which is wider than what values fill.
    """
    off = words.figure(f"{facts.max_abs_error:.1e}")
    over = words.figure(f"{facts.error_over_range:.1e}")
    if facts.error_bound is None:
        return words("cost.error", error=off, over=over)
    bound = words.figure(f"{facts.error_bound:.1e}")
    return words("cost.error_planned", error=off, over=over, bound=bound)


def reputations(last: RoundRecord, names: Sequence[str], words: Words) -> list[str]:
    """Each participant's best and least regarded peer in one round."""
    rows = zip(names, last.reputation, strict=True)
    return [reputations_of(name, row, names, words) for name, row in rows]


def reputations_of(
    name: str, row: Sequence[float | None], peers: Sequence[str], words: Words
) -> str:
    """One participant's best and least regarded peer, by its row of reputations."""
    known = [(value, peer) for value, peer in zip(row, peers, strict=True) if value is not None]
    if not known:
        return words("reputation.unknown", name=name)
    (best_value, best), (least_value, least) = max(known), min(known)
    high, low = words.decimal(best_value, 2), words.decimal(least_value, 2)
    if len(known) > 1 and high == low:
        return words("reputation.alike", name=name, high=high)
    if best == least:
        return words("reputation.most", name=name, best=best, high=high)
    return words("reputation.least", name=name, best=best, high=high, least=least, low=low)


def simulated(words: Words) -> Limit:
    """Whom everybody had to trust, whatever was encrypted: title and explanation."""
    return words("limits.computer"), words("limits.computer_text")
