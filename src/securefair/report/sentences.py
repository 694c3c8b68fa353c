"""What happened, in sentences that a clinician can read and a cryptographer can agree with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.collaboration.kinds import wording_of
from securefair.config import RunConfig
from securefair.records import (
    BASELINE,
    EncryptionResult,
    ParticipantResult,
    PrivacyResult,
    RoundRecord,
    RunResult,
)
from securefair.report import averages
from securefair.report.facts import best_control, over_best, shown
from securefair.report.privacy import behind_the_models
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

# Whether this backend keeps anything secret; every other one encrypts.
CLEAR = "clear"
_GAINED, _CONSTANT = "gained", "no better than the most common answer"
_UNCHANGED, _WORSE = "unchanged", "worse off"
_OTHERS = (_CONSTANT, _UNCHANGED, _WORSE)


def verdict(result: RunResult, nouns: Nouns) -> str:
    """Who gained, in one or two sentences."""
    people = result.participants
    if result.algorithm == BASELINE:
        return f"All {plural(len(people), *_pair(nouns))} trained alone; nothing was shared."
    against = algorithm_name(best_control(result))
    over = over_best(result, result.algorithm)
    gains = [one.gain for one in people] if over is None else over.gain
    name = algorithm_name(result.algorithm)
    average = (
        f"Over the best control ({against}), the average change is "
        f"{points(sum(gains) / len(gains))} percentage points of accuracy, "
        f"from {points(min(gains))} to {points(max(gains))}."
    )
    told: dict[str, list[str]] = {}
    for one, gain in zip(people, gains, strict=True):
        told.setdefault(_standing(one, gain), []).append(f"{one.name} ({points(gain)})")
    winners = told.pop(_GAINED, [])
    if not told:
        everyone = f"Every one of the {len(people)} {nouns.participants}"
        return f"{everyone} gained accuracy with {name}. {average}"
    start = f"{len(winners)} of {len(people)} {nouns.participants} gained accuracy with {name}"
    rest = [f"{how}: {listing(told[how])}" for how in _OTHERS if how in told]
    return f"{start}; {'; '.join(rest)}. {average}"


def _standing(one: ParticipantResult, gain: float) -> str:
    """What a change of accuracy may be called: no gain is what the most common answer gives."""
    if shown(gain) == 0:
        return _UNCHANGED
    if gain < 0:
        return _WORSE
    return _GAINED if one.accuracy > one.majority_accuracy else _CONSTANT


def cautions(result: RunResult, nouns: Nouns) -> list[str]:
    """How far chance, or one frequent answer, could explain the result."""
    smallest = min(result.participants, key=lambda one: one.test_samples)
    step = 1 / smallest.test_samples
    notes = [
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


def steps(config: RunConfig, result: RunResult, nouns: Nouns) -> list[str]:
    """What was done, in the order in which it was done."""
    people, training = plural(len(result.participants), *_pair(nouns)), config.training
    alone = (
        f"Each of {people} trained a model on its own {nouns.samples} for "
        f"{plural(training.local_epochs, 'epoch')}."
    )
    if result.algorithm == BASELINE:
        return [
            f"Each of {people} fitted models to its own {nouns.samples} and chose among them by "
            "cross-validation."
        ]
    if result.encryption is not None and result.encryption.averaging is not None:
        return averages.steps(config, result.encryption.averaging, nouns)
    if told := wording_of(result.algorithm).steps:
        nouned = {
            "participants": people,
            "participant": nouns.participant,
            "samples": nouns.samples,
        }
        texts = [text.format(**nouned) for text in told]
        if config.renewals:
            whose = listing(list(dict.fromkeys(one.name for one in config.renewals)))
            texts.append(
                f"Later the {nouns.samples} of {whose} changed. Whoever has other {nouns.samples} "
                "fitted anew and asked its teachers once more, and nobody else did. Whether a "
                "teacher answers follows its own reputation of who asks and may tell that one a "
                "bit, which the ledger counts."
            )
        if encrypts(result.encryption):
            return [
                *texts,
                f"No readable record of a {nouns.sample} and no model passed from one "
                f"{nouns.participant} to another: what students sent was encrypted under keys that "
                "only they hold.",
            ]
        return [*texts, "This run computed that without encryption."]
    came_back = f"What came back was {released(config, nouns)}."
    if encrypts(result.encryption):
        texts = [
            f"{alone} Then and later, no readable record of a {nouns.sample} and no model passed "
            f"from one {nouns.participant} to another.",
            f"Once, at the start, every {nouns.participant} in the role of a student sent the "
            f"features of its {nouns.samples} to the others, its teachers, encrypted under a key "
            "that only it holds.",
            f"In each of {plural(training.rounds, 'round')} the teachers ran their current models "
            f"on the encrypted values without seeing them. {came_back}",
        ]
    else:
        texts = [
            alone,
            f"In each of {plural(training.rounds, 'round')} every {nouns.participant} in the role "
            "of a student asked the others, its teachers, how their current models judge its "
            f"{nouns.samples}; this run computed that without encryption. {came_back}",
        ]
    texts.append(
        "Each student moved its model a little towards what its teachers said (knowledge "
        f"distillation), while it went on learning from its own {nouns.samples}."
    )
    if wording_of(result.algorithm).reputations:
        texts.append(
            f"Every {_ordinal(config.fairness.forced_every)} round everyone answered, and each "
            f"{nouns.participant} checked whether a teacher's advice pulled in the same direction "
            f"as its own {nouns.samples} did. The result is that teacher's reputation. It decided "
            "how much the advice counted and, in the other rounds, how likely the "
            f"{nouns.participant} was to answer that teacher's questions in return."
        )
    return texts


def released(config: RunConfig, nouns: Nouns) -> str:
    """What a teacher lets out, as part of a sentence."""
    settings = config.distillation
    match settings.release:
        case "projection":
            chooser = (
                "weights that a public seed fixes"
                if settings.basis == "public"
                else "weights that the student chose"
            )
            return (
                f"{settings.q} weighted sums per class over all of the student's {nouns.samples}, "
                f"with {chooser}; from them the student estimates the single predictions"
            )
        case "logits":
            return f"the prediction scores for every single {nouns.sample} of the student"
        case "class_sums":
            return "one number per class, which measures agreement but cannot train a model"
    return "one number, which measures agreement but cannot train a model"


def encrypts(result: EncryptionResult | None) -> bool:
    """Whether anything was kept secret from anyone in this run."""
    return result is not None and result.backend != CLEAR


def encryption(result: EncryptionResult | None) -> str:
    """Whether the exchange was protected, in one sentence."""
    if result is None:
        return (
            "Nothing in this run was encrypted: it is the reference computation, "
            "which shows what collaboration is worth, not how it is protected."
        )
    if result.averaging is not None:
        return averages.protection(result, result.averaging)
    if result.backend == CLEAR:
        return (
            "Nothing in this run was encrypted: the clear backend follows every step of the "
            "protocol on readable numbers. Use it for tests only."
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


def simulated(nouns: Nouns) -> tuple[str, str]:
    """Whom everybody had to trust, whatever was encrypted: title and explanation."""
    return (
        "The computer that ran this",
        f"One program played all {nouns.participants}: it read everybody's {nouns.samples} and "
        "held all models and keys. What this page calls protected is what "
        f"{nouns.participants} would see of each other if each ran its own part.",
    )


def not_protected(
    config: RunConfig, nouns: Nouns, privacy: Mapping[str, PrivacyResult] | None = None
) -> list[tuple[str, str]]:
    """What this method does not protect: title and explanation (docs/threat-model.md)."""
    implied = (
        "Each answer says something about the teacher's model, and enough numbers reveal any "
        "model. The ledger above counts them."
    )
    more, handled = "It gets no more of them.", "checked and rounded"
    if config.distillation.release == "logits":
        implied += " Releasing logits discloses as much as a public prediction service."
        more = "It can also get more of them than its samples need; the ledger counts them all."
        handled = "rounded"
    return [
        ("What the released numbers imply", implied),
        behind_the_models(privacy, nouns),
        (
            "Chosen questions",
            "A malicious student can encrypt anything and so choose what the numbers tell, even "
            f"several weights in one number. {more}",
        ),
        (
            "Malicious teachers",
            "A teacher that does not follow the protocol can aim an answer at one of the student's "
            f"{nouns.samples}, or make it open to parts of the student's secret key. Where the "
            "student trains on that and then answers others, its answers can carry it back. What "
            "is no smooth function of the features is refused, and values are "
            f"{handled} when they are opened. That limits this and does not stop it.",
        ),
        (
            "Collusion",
            "Students that work together know the sum of what the ledger shows for each of them.",
        ),
        (
            "Sizes and times",
            f"Partners are told exactly how many {nouns.samples} there are, see how long a "
            "computation takes, and learn the reason if they get no answer. Whoever watches the "
            "network sees who talks to whom, when and how much, and more if the channels are not "
            f"encrypted, which is not done here. How often a {nouns.participant} answers shows its "
            "reputation of the one who asks.",
        ),
        (
            "Honest answers",
            "Nothing proves that a teacher computed what it should. Reputation notices "
            "unhelpful advice, but only when it is next updated.",
        ),
    ]


def _pair(nouns: Nouns) -> tuple[str, str]:
    return nouns.participant, nouns.participants


def _ordinal(number: int) -> str:
    if number == 1:
        return "single"
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def participants_note(people: Sequence[ParticipantResult], nouns: Nouns) -> str:
    """How much data there was, for the line under the heading."""
    total = sum(one.samples for one in people)
    return f"{plural(len(people), *_pair(nouns))}, {plural(total, nouns.sample, nouns.samples)}"
