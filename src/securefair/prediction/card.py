"""The card of a model: what it is, what it was compared with, and what it is not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from securefair.model.outcomes import outcome_named
from securefair.prediction.evaluation import ModelEvaluation
from securefair.prediction.record import Calibration
from securefair.records import VerdictResult

SHOWN = (
    ("accuracy", "Accuracy", "{:.1%}"),
    ("auc", "AUC", "{:.3f}"),
    ("sensitivity", "Sensitivity", "{:.1%}"),
    ("specificity", "Specificity", "{:.1%}"),
    ("log_loss", "Log-loss", "{:.3f}"),
    ("brier", "Brier score", "{:.3f}"),
    ("calibration_error", "Calibration error", "{:.1%}"),
)

MODELS_BESIDE = 5
"""Columns of a table of scores."""


class Taught(msgspec.Struct, frozen=True, kw_only=True):
    """What passed between the hospital and one peer over the run."""

    peer: str
    answers_received: int
    numbers_received: int
    numbers_disclosed: int


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """card.json.

    Attributes:
        hospital, run, algorithm, backend: what the model is of.
        seed, seeds: of the model, and how many the run has.
        label: what is predicted; None where samples came as numbers.
        features: names, or how many where they have none; those of an image are one entry, which
            names its extractor.
        train_by_class: own training patients.
        model: on the hospital's own test patients.
        controls: the same for models of the same hospital without the others, by algorithm.
        titles: of the controls, for people.
        taught: by peer.
        origin: where ranges and levels of the table come from.
        limits: sentences on what the model is not.
        versions: of what computed it.
        calibration: how logits become probabilities.
        uncalibrated: `model` before that; None where there is no calibration.
        fitted_to: own patients that the kept model was fitted to; 0 in cards that do not say. Where
            they are more than the training patients, it was fitted anew to those held out, too.
        verdict: whether the others helped, by the one rule; None where there is nothing to compare
            with.
        privacy: what is promised to the patients behind this hospital's answers to the others,
            as a sentence; None: nothing. The model itself is not private.
    """

    hospital: str
    run: str
    algorithm: str
    backend: str
    seed: int
    seeds: int
    label: str | None
    features: list[str] | int
    train_by_class: dict[str, int]
    model: ModelEvaluation
    controls: dict[str, ModelEvaluation]
    taught: list[Taught]
    origin: str | None
    limits: list[str]
    versions: dict[str, str]
    calibration: Calibration = Calibration()
    uncalibrated: ModelEvaluation | None = None
    privacy: str | None = None
    titles: dict[str, str] = {}
    verdict: VerdictResult | None = None
    fitted_to: int = 0

    @property
    def worse(self) -> bool:
        """Whether a model of this hospital's own predicts better, on its own test patients."""
        here = None if self.verdict is None else self.verdict.hospitals.get(self.hospital)
        return here is not None and here.told == "worse"


def limits(
    test: ModelEvaluation,
    seeds: int,
    outcomes: dict[str, int],
    findings: Sequence[str] = (),
    *,
    tells_ranges: bool = False,
    refitted: bool = False,
) -> list[str]:
    """What whoever uses the model must know, in the order of importance."""
    tested, accuracy = ("What was measured", "accuracy") if refitted else ("It", "its accuracy")
    tested += f" was tested on {test.patients} patients of the same hospital"
    if "accuracy" in test.intervals:
        low, high = (f"{100 * end:.1f}" for end in test.intervals["accuracy"])
        tested += f": {accuracy} there lies between {low} and {high} % (95 % interval)"
    said = [
        "It is a result of research. It is no medical device, and nobody validated it for care.",
        f"{tested}. Elsewhere it is unknown.",
        *(f"In the table it was trained on: {one}" for one in findings),
        "The file tells of the patients that it was trained on. Keep it where their records are.",
    ]
    few = [name for name, count in outcomes.items() if count < 10]
    if few:
        said.append(f"Fewer than ten training patients were of class {', '.join(few)}.")
    if tells_ranges:
        said.append(
            "Ranges and levels of its columns were taken from the hospitals' tables, not from "
            "general knowledge."
        )
    if seeds > 1:
        said.append(f"The run had {seeds} seeds; the model is of the first one.")
    return said


def _privacy(card: ModelCard) -> list[str]:
    if card.privacy is None:
        return []
    return [
        f"Another model, a private one, answered the other hospitals. {card.privacy} That is said "
        "of the answers; the model of this card is not private and stays at home.",
        "",
    ]


def markdown(card: ModelCard) -> str:
    """card.md."""
    lines = [
        f"# Model of {_plain(card.hospital)}",
        "",
        *([] if card.verdict is None else [_plain(card.verdict.sentence), ""]),
        f"Run `{_plain(card.run)}`, algorithm {card.algorithm}, backend {card.backend}, "
        f"seed {card.seed}.",
        "",
        "## Data",
        "",
        f"- Predicts: {_plain(card.label or 'the class of a sample')} "
        f"({', '.join(map(_plain, card.model.classes)) or predicted(card.model)})",
        "- From: "
        + (
            f"{card.features} features"
            if isinstance(card.features, int)
            else _plain(", ".join(card.features))
        ),
        "- Training patients: "
        + ", ".join(f"{_plain(name)}: {count}" for name, count in card.train_by_class.items()),
        f"- Test patients: {card.model.patients}",
        *_refitted(card),
        "",
        "## How good it is",
        "",
        "On the hospital's own test patients, which no training saw.",
        "",
        *_scores(card),
        "",
        _intervals(card.model),
        "",
        _calibrated(card.calibration, card.model),
        "",
        *(_confusion(card.model) if card.model.classes else []),
        "## Who taught it, and what was disclosed",
        "",
        *_taught(card),
        "",
        *_privacy(card),
        "## What it is not",
        "",
        *(f"- {_plain(one)}" for one in card.limits),
        "",
        "## Versions",
        "",
        ", ".join(f"{name} {version}" for name, version in card.versions.items()),
    ]
    return "\n".join(lines) + "\n"


def _refitted(card: ModelCard) -> list[str]:
    trained = sum(card.train_by_class.values())
    if card.fitted_to <= trained:
        return []
    return [
        f"- The kept model was fitted anew to all {card.fitted_to} patients, in the same way and "
        "with what the others had said. Nobody measured it: scores are of the model of the "
        f"{trained} training patients. More patients seldom make a model worse. Score it on "
        "patients of another time, not on these."
    ]


def _scores(card: ModelCard) -> list[str]:
    models = {"Model": card.model}
    if card.uncalibrated is not None:
        models["As fitted"] = card.uncalibrated
    models |= {card.titles.get(name, name): one for name, one in card.controls.items()}
    rows: list[str] = []
    for start in range(0, len(models), MODELS_BESIDE):  # one below the other, for narrow screens
        some = dict(list(models.items())[start : start + MODELS_BESIDE])
        rows += [""] if rows else []
        rows += [f"| Score | {' | '.join(some)} |", f"|---|{'---:|' * len(some)}"]
        for name, title, form in shown_of(card.model):
            values = [one.scores.get(name) for one in some.values()]
            texts = ["undefined" if value is None else form.format(value) for value in values]
            rows.append(f"| {title} | {' | '.join(texts)} |")
    return rows


def _intervals(found: ModelEvaluation) -> str:
    told = [
        f"{title.lower()} {interval(found, name)}"
        for name, title, _ in shown_of(found)
        if name in found.intervals
    ]
    known = f"95 % intervals of the model over patients: {', '.join(told)}. " if told else ""
    return f"{known}{positive(found)}"


def predicted(found: ModelEvaluation) -> str:
    """What is predicted where it is no class, such as "the time to an event"."""
    return outcome_named(found.outcome).title


def shown_of(found: ModelEvaluation) -> Sequence[tuple[str, str, str]]:
    """Scores that tables show: name, title and form of each."""
    if found.classes or not found.outcome:
        return SHOWN
    scores = outcome_named(found.outcome).scores
    return [(name, title, "{:.3f}") for name, title in scores.items()]


def positive(found: ModelEvaluation) -> str:
    """Which class sensitivity is about; empty for more than two, whose mean it is."""
    if len(found.classes) != 2:
        return ""
    return (
        f"Sensitivity is the share of class {_plain(found.classes[1])} that the model recognises; "
        f"specificity that of class {_plain(found.classes[0])}."
    )


def interval(found: ModelEvaluation, score: str) -> str:
    """The 95 % interval of a score as text; empty where it is no share of patients."""
    if score not in found.intervals:
        return ""
    low, high = found.intervals[score]
    return f"{100 * low:.0f} to {100 * high:.0f}%"


def _calibrated(found: Calibration, model: ModelEvaluation) -> str:
    if not model.classes:
        return f"It predicts {predicted(model)}; its own part is of the hospital's patients alone."
    if found.method == "none":
        return (
            "Probabilities are as the model gives them: this algorithm makes no predictions for "
            "held-out patients that could correct them."
        )
    return (
        f"Probabilities are calibrated: logits are divided by {found.temperature:.3f}, which was "
        f"fitted to predictions for {found.patients} training patients, each by fits that had not "
        "seen it. Models alone are not calibrated, as in the run's report: compare them with the "
        "column As fitted, the model before calibration."
    )


def _confusion(model: ModelEvaluation) -> list[str]:
    names = list(map(_plain, model.classes))
    rows = [
        "Rows of the confusion matrix are true classes, columns predicted ones.",
        "",
        f"| True | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for name, counts in zip(names, model.confusion, strict=True):
        rows.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return [*rows, ""]


def _taught(card: ModelCard) -> list[str]:
    if not card.taught:
        return ["Nobody: it was trained alone, and nothing was disclosed."]
    rows = [
        "| Peer | Answers from it | Numbers from it | Numbers to it |",
        "|---|---:|---:|---:|",
    ]
    for one in card.taught:
        rows.append(
            f"| {_plain(one.peer)} | {one.answers_received} | {one.numbers_received} | "
            f"{one.numbers_disclosed} |"
        )
    return rows


def _plain(text: str) -> str:
    """A name in a table of Markdown: no line of its own, no cell of its own, no markup."""
    return "".join(f"\\{c}" if c in "|*_`<>[]#\\" else c for c in " ".join(text.split()))
