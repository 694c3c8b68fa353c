"""Verdicts of results that a test made up, as a run would have stored them."""

import msgspec

from securefair.collaboration.verdict import verdict_of
from securefair.model.outcomes import outcome_named
from securefair.worth.verdict import Against


def with_verdicts(result):
    """The same with a verdict of every algorithm that gained over a control."""
    algorithms = {}
    for name, figure in result.algorithms.items():
        gain = figure.gain_over_best_control.get(result.metric)
        if figure.verdict is None and gain is not None and figure.best_control is not None:
            verdict = verdict_of(
                gain,
                result.metric,
                algorithm=name,
                control=figure.best_control,
                against=_against(result, figure.best_control),
            )
            figure = msgspec.structs.replace(figure, verdict=verdict)
        algorithms[name] = figure
    return msgspec.structs.replace(result, algorithms=algorithms)


def _against(result, control):
    """What the result compares with."""
    scored = [result.algorithms[one] for one in result.controls if one in result.algorithms]
    level = result.algorithms[control].metrics.get(result.metric)
    compared = sum(result.metric in one.metrics for one in scored)
    if level is None or level.mean is None:
        return Against(compared)
    return Against(compared, outcome_named(result.outcome).level(result.metric, level.mean))
