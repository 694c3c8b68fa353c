"""What happened, in sentences that a clinician can read and a cryptographer can agree with."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.collaboration.kinds import REGISTERED, kind_of
from securefair.collaboration.telling import Limit, Told
from securefair.collaboration.wording import encrypts
from securefair.config import RunConfig
from securefair.records import (
    STANDALONE,
    EncryptionResult,
    RoundRecord,
    RunResult,
)
from securefair.report import averages
from securefair.report.wording import (
    Nouns,
    algorithm_name,
    data_size,
    duration,
    listing,
    percent,
    plural,
    points,
    with_spread,
)


def cautions(result: RunResult, nouns: Nouns) -> list[str]:
    """What was found in the tables; how far chance, or one frequent answer, could explain it."""
    smallest = min(result.participants, key=lambda one: one.test_samples)
    step = 1 / smallest.test_samples
    notes = [f"{whose}: {one}" for whose, found in result.findings.items() for one in found]
    notes += [
        f"The smallest test set is {smallest.name}'s, with "
        f"{plural(smallest.test_samples, nouns.sample, nouns.samples)}: one more or one fewer "
        f"correct prediction there moves accuracy by {step * 100:.1f} points."
    ]
    plain = [one for one in result.participants if one.majority_accuracy >= one.accuracy]
    if plain:
        rates = listing([f"{one.name} ({percent(one.majority_accuracy)})" for one in plain])
        notes.append(
            f"Always giving the most common answer would do at least as well for {rates}: a high "
            "accuracy there says little."
        )
    if len(result.seeds) == 1:
        notes.append(
            "This is one repetition with one random split. Repeat with several seeds before "
            "drawing conclusions."
        )
    else:
        notes.append(
            f"Accuracies and gains are means over {len(result.seeds)} repetitions. Rounds, "
            f"traffic and disclosure are those of the first, seed {result.seeds[0]}."
        )
    return notes


def control_note(result: RunResult) -> list[str]:
    """What the mean gain is over every control, where there are several."""
    figure = result.algorithms[result.algorithm]
    if result.algorithm in result.controls or len(figure.gain_over) < 2:
        return []
    over = listing(
        [
            f"{with_spread(points(one.mean), one.mean_spread)} over {algorithm_name(control)}"
            for control, one in figure.gain_over.items()
        ]
    )
    return [f"Mean change of accuracy in points: {over}."]


def tell(config: RunConfig, result: RunResult, nouns: Nouns) -> Told:
    """What was done, how to read the ledger, and what is not protected.

    Of a kind that is not known only what holds for all.
    """
    steps: Sequence[str] = []
    counted = "The ledger counts numbers. The count is not a formal guarantee."
    limits: Sequence[Limit] = []
    if result.algorithm == STANDALONE:
        steps = [
            f"Each of {plural(len(result.participants), *_pair(nouns))} fitted models to its own "
            f"{nouns.samples} and chose among them by cross-validation."
        ]
    elif result.algorithm in REGISTERED:
        told = kind_of(result.algorithm).tell(config, result, nouns)
        steps, counted, limits = told.steps, told.counted, told.limits
    return Told(steps=steps, counted=counted, limits=[simulated(nouns), *limits])


def encryption(result: EncryptionResult | None) -> str:
    """Whether the exchange was protected, in one sentence."""
    if result is None:
        return (
            "Nothing in this run was encrypted: it is the reference computation, "
            "which shows what collaboration is worth, not how it is protected."
        )
    if result.averaging is not None:
        return averages.protection(result, result.averaging)
    if not encrypts(result):
        return (
            "Nothing in this run was encrypted: the clear backend follows every step of the "
            "protocol on readable numbers. Use it for tests only."
        )
    if not result.ring_degree:
        return (
            "Nothing in this run was encrypted, and no hospital asked another about its patients: "
            "what hospitals added up was hidden under masks that cancel in the sum (X25519, "
            f"AES-256; {result.security_bits} bits)."
        )
    return (
        f"Values were encrypted with CKKS under each student's own key, with parameters for "
        f"{result.security_bits}-bit security. Teachers computed on ciphertexts and could not "
        "read them."
    )


def cost(result: RunResult) -> str:
    """Bytes, time and precision of the encrypted exchanges over all repetitions."""
    facts = result.encryption
    if facts is None or not encrypts(facts):
        return ""
    seeds = len(result.seeds)
    if facts.averaging is not None:
        return averages.cost(facts, facts.averaging, seeds)
    times = "" if seeds == 1 else f" over all {seeds} repetitions"
    return (
        f"{algorithm_name(result.algorithm)} took {duration(facts.seconds)}{times}, on the "
        f"computer that ran this, for {plural(facts.answers, 'answer')}: "
        f"{data_size(facts.bytes_up)} went to teachers, {data_size(facts.bytes_down)} came back. "
        f"The largest error of a released value was {facts.error_over_range:.1e} of its range."
    )


def reputations(last: RoundRecord, names: Sequence[str]) -> list[str]:
    """Each participant's best and least regarded peer in one round."""
    rows = zip(names, last.reputation, strict=True)
    return [reputations_of(name, row, names) for name, row in rows]


def reputations_of(name: str, row: Sequence[float | None], peers: Sequence[str]) -> str:
    """One participant's best and least regarded peer, by its row of reputations."""
    known = [(value, peer) for value, peer in zip(row, peers, strict=True) if value is not None]
    if not known:
        return f"{name} has no reputation of anyone yet."
    (high, best), (low, least) = max(known), min(known)
    if len(known) > 1 and f"{high:.2f}" == f"{low:.2f}":
        return f"{name} thinks alike of everyone it has heard ({high:.2f})."
    text = f"{name} thinks most of {best} ({high:.2f})"
    return f"{text} and least of {least} ({low:.2f})." if best != least else f"{text}."


def simulated(nouns: Nouns) -> Limit:
    """Whom everybody had to trust, whatever was encrypted: title and explanation."""
    return (
        "The computer that ran this",
        f"One program played all {nouns.participants}: it read everybody's {nouns.samples} and "
        "held all models and keys. What this page calls protected is what "
        f"{nouns.participants} would see of each other if each ran its own part.",
    )


def _pair(nouns: Nouns) -> tuple[str, str]:
    return nouns.participant, nouns.participants
