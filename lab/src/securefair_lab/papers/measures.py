"""The figures that the papers' tables print, of one finished run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from securefair.records import RoundRecord
from securefair.worth import cgs, gains, mcg, mva
from securefair_lab.papers.algorithms.checkpoints import chosen_accuracy
from securefair_lab.papers.correlation import collaborative_fairness
from securefair_lab.papers.experiment import Finished, Parts, Row


def percent(record: RoundRecord) -> list[float]:
    """Everyone's test accuracy in percent."""
    return [100 * accuracy for accuracy in record.accuracy]


def collaboration(run: Finished) -> Mapping[str, float]:
    """MVA, MCG, CGS (ddof 0, as CYCle's tables) and the least gain of all; controls have none."""
    return {} if run.contender.control else _collaboration(run)


def _collaboration(run: Finished) -> dict[str, float]:
    accuracy = percent(run.records[-1])
    gained = gains(accuracy, percent(run.control[-1]))
    return {
        "MVA": mva(accuracy),
        "MCG": mcg(gained),
        "CGS": cgs(gained),
        "least gain": float(gained.min()),
    }


HELD_OUT = "held-out MVA"
"""Mean accuracy in percent on images that nobody trains on and nobody is tested on."""


def collaboration_and_held_out(run: Finished) -> Mapping[str, float]:
    """`collaboration`, `HELD_OUT` and the share of questions that were answered, in percent.

    The control has its accuracies instead, in the end and, everyone for itself, in the round that
    held-out images choose.
    """
    last = run.records[-1]
    validated = np.array([record.validation_accuracy for record in run.records])
    found = {HELD_OUT: 100 * float(validated[-1].mean())}
    if run.contender.control:
        tested = np.array([record.accuracy for record in run.records])
        best = validated.argmax(axis=0)
        stopped = 100 * float(tested[best, np.arange(len(best))].mean())
        return {"MVA": mva(percent(last)), "MVA, best round": stopped, **found}
    return {**_collaboration(run), **found, "answered": _answered(run)}


def participants(run: Finished) -> Mapping[str, float]:
    """P1, P2, ...: everyone's accuracy in percent, of controls too."""
    return {f"P{n}": value for n, value in enumerate(percent(run.records[-1]), start=1)}


def participants_and_collaboration(run: Finished) -> Mapping[str, float]:
    """Both, of controls too: their gains are 0."""
    return {**participants(run), **_collaboration(run)}


def collaboration_and_correlation(run: Finished) -> Mapping[str, float]:
    """`collaboration`, and Pearson's correlation of accuracy alone and after it.

    Where everyone ends alike there is no correlation, which then counts as 0.
    """
    if run.contender.control:
        return {}
    found = collaborative_fairness(run.control[-1].accuracy, run.records[-1].accuracy)
    return {**_collaboration(run), "pearson": 0.0 if found is None else found.coefficient}


def honesty(run: Finished) -> Mapping[str, float]:
    """Accuracies, their mean over honest participants, and what these think of each kind.

    Reputations are means over pairs at the end; the share of an honest participant's rounds in
    which it answered a flipper is in percent.
    """
    flippers = tuple(int(p) - 1 for p in str(run.contender.fields["flippers"]).split("P")[1:])
    honest = [n for n in range(len(run.records[-1].accuracy)) if n not in flippers]
    accuracy = percent(run.records[-1])
    result = {**participants(run), "honest_average": float(np.mean([accuracy[n] for n in honest]))}
    if run.contender.control:
        return result
    r = reputation(run.records[-1])
    answers = np.array([record.answered for record in run.records]).mean(axis=0)
    return {
        **result,
        "reputation of honest": float(np.nanmean(r[np.ix_(honest, honest)])),
        "reputation of flippers": float(np.nanmean(r[np.ix_(honest, flippers)])),
        "answered flippers": 100 * float(answers[np.ix_(flippers, honest)].mean()),
    }


def reputations(run: Finished) -> Mapping[str, float]:
    """Mean reputations and the share of questions that were answered, in percent.

    Reputations of the first participant, of the others among themselves and of all, after the
    first round and at the end. Of VPDL's questions all are answered.
    """
    if run.contender.control:
        return {}
    found: dict[str, float] = {}
    for record, when in ((run.records[0], " at first"), (run.records[-1], "")):
        r = reputation(record)
        for who, part in (("P1", r[1:, 0]), ("the others", r[1:, 1:]), ("all", r)):
            found[f"of {who}{when}"] = float(np.nanmean(part))
    return {**found, "answered": _answered(run)}


def _answered(run: Finished) -> float:
    """The share of all questions, one to each other participant a round, in percent."""
    answers = np.array([record.answered for record in run.records]).mean(axis=0)
    return 100 * float(answers[~np.eye(len(answers), dtype=bool)].mean())


def reputation(record: RoundRecord) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """r_nk (N, N), NaN where there is none."""
    return np.array(record.reputation, dtype=np.float64)


def sharing(run: Finished) -> Mapping[str, float]:
    """In which percentage of rounds each participant got each other's answer or model."""
    if run.contender.control:
        return {}
    share = 100 * np.array([record.answered for record in run.records]).mean(axis=0)
    return {
        f"P{n + 1} from P{k + 1}": float(share[n, k]) for n, k in np.ndindex(share.shape) if n != k
    }


def personalised(run: Finished) -> Mapping[str, float]:
    """DPFL: mean and variance of test accuracy, each at the round that validated best.

    Where a common model is tuned at the end, the tuned model counts and nothing before it.
    """
    last = run.records[-1:]
    tuned = last[0].algorithm.endswith("_fine_tuned")
    accuracy = 100 * np.array(chosen_accuracy(last if tuned else run.records))
    return {"accuracy": float(accuracy.mean()), "variance": float(accuracy.var())}


def every(findings: Iterable[bool], but: int = 0) -> Parts:
    """A claim that is true where there are findings, and all are so, or all but so many."""
    return Parts(tuple(bool(one) for one in findings), but)


def worst(row: Row, metric: str) -> float:
    """The least number of all seeds; of rows that keep no seeds apart, the mean."""
    return min(row.each.get(metric, ()), default=row.metrics[metric])


def values(rows: Sequence[Row], metric: str, **fields: object) -> dict[tuple[object, ...], float]:
    """A metric of the rows that have these fields, by dataset, split, n and model."""
    wanted = tuple(fields.items())
    found: dict[tuple[object, ...], float] = {}
    for row in rows:  # verdicts ask thousands of times: a loop without generators
        get = row.fields.get
        for key, value in wanted:
            if get(key) != value:
                break
        else:
            if metric in row.metrics:
                own = (get("dataset"), get("split"), get("n"), get("model"))
                found[own] = row.metrics[metric]
    return found


def below(
    rows: Sequence[Row], metric: str, mine: Mapping[str, object], theirs: Mapping[str, object]
) -> Parts:
    """Whether a method's number is below another's in every setting that has both."""
    ours, others = values(rows, metric, **mine), values(rows, metric, **theirs)
    return every(own < others[key] for key, own in ours.items() if key in others)


def above_in_all_but(
    most: int,
    rows: Sequence[Row],
    metric: str,
    mine: Mapping[str, object],
    theirs: Mapping[str, object],
) -> Parts:
    """Whether a method's number is above another's in all but so many settings that have both."""
    ours, others = values(rows, metric, **mine), values(rows, metric, **theirs)
    return every((own > others[key] for key, own in ours.items() if key in others), most)
