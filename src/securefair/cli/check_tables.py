"""What `securefair check` found, as tables on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.ckks.backends import encrypts
from securefair.collaboration.forecast import CheckedAlgorithm, CheckedSums
from securefair.config.extensions import LABORATORY
from securefair.profiling.estimate import HOUR, Estimate
from securefair.profiling.forecast import Checked
from securefair.profiling.planned import PlanReport
from securefair.profiling.tables import rows_table
from securefair.report.fitting import FittingTable, TableColumn
from securefair.report.wording import (
    algorithm_name,
    count,
    data_size,
    duration,
    further_line,
    plural,
    sensitivity_of,
)

FEW = 4
"""Samples from which something is learnt, or tested, at least."""


def check_report(checked: Checked, points: int = 0) -> RenderableType:
    """Everything, for `rich.console.Console.print`.

    Args:
        checked: what a run would do.
        points: findings in the tables, which stand before it.
    """
    return Group(*_parts(checked, points))


def _parts(checked: Checked, points: int) -> Iterator[RenderableType]:
    seeds = len(checked.seeds)
    times = "" if seeds == 1 else f", {seeds} times"
    yield Text(
        f"{checked.name}: {plural(len(checked.participants), 'participant')}, "
        f"{plural(checked.rounds, 'round')}{times}, backend {checked.backend}",
        style="bold",
    )
    yield _participants(checked)
    yield from _columns(checked)
    if checked.plan is not None:
        yield _plan(checked.plan, checked.backend)
    if checked.sums is not None:
        yield _sums(checked.sums)
    if checked.algorithms:
        yield _traffic(checked.algorithms)
    if checked.plan is not None:
        yield _disclosure(checked)
    if checked.estimate is not None:
        yield _estimate(checked.estimate)
    elif checked.plan is not None:
        yield Text(
            f"For hours, measure this machine once (with {LABORATORY}): {checked.measure}, then "
            "check with --model cost.json.",
            style="dim",
        )
    elif checked.sums is not None:
        yield Text(
            "Hours are not foretold where models are averaged: which sums come about depends on "
            f"all hospitals' answers. One sum and one comparison (with {LABORATORY}): "
            f"{checked.measure}",
            style="dim",
        )
    yield from (Text(sentence) for sentence in checked.chosen)
    for warning in checked.warnings:
        yield Text(f"Note: {warning}", style="yellow")
    silent = [row.student for row in checked.disclosure if not row.permitted]
    if silent:
        yield Text(f"It can be run, but nobody would answer {', '.join(silent)}.", style="red")
    elif few := [one.name for one in checked.participants if one.train < FEW or one.test < FEW]:
        said = "It can be run, but there are too few samples to learn from or to test on at"
        yield Text(f"{said} {', '.join(few)}.", style="red")
    elif points:
        said = f"{plural(points, 'point')} to look at in the tables: see the top"
        yield Text(f"It can be run; nothing was run. {said}.", style="yellow")
    else:
        yield Text("Everything is in order; nothing was run.", style="green")


def _participants(checked: Checked) -> FittingTable:
    people = checked.participants
    columns = [
        TableColumn("Participant", [one.name for one in people], numbers=False),
        TableColumn("Training\nsamples", [count(one.train) for one in people]),
        TableColumn("Test\nsamples", [count(one.test) for one in people]),
    ]
    if len(checked.classes) <= 10:
        columns += [
            TableColumn(
                f"Class\n{name}" if checked.tells_classes else name,
                [count(one.by_class[at]) for one in people],
                dispensable=1,
            )
            for at, name in enumerate(checked.classes)
        ]
    return FittingTable("Participants", columns)


def _columns(checked: Checked) -> Iterator[RenderableType]:
    features = checked.features
    if isinstance(features, int):
        yield Text(
            f"{plural(features, 'feature')}, {plural(len(checked.classes), 'class', 'classes')}"
        )
        return
    origin = "inferred from the tables" if checked.inferred else "as configured"
    yield Text(f"{plural(len(features), 'feature')} ({origin}): {', '.join(_folded(features))}")
    if any(name.endswith("?") for name in features):
        yield Text("A feature with ? says whether the value is missing.", style="dim")
    for whose, columns in checked.further.items():
        yield Text(further_line(whose, columns))
    for name, why in checked.unused.items():
        yield Text(f"Column {name} is not used: {why}.", style="dim")
    said = sensitivity_of(checked.classes, table=True) if checked.tells_classes else ""
    if said:
        yield Text(said, style="dim")


def _folded(features: Sequence[str]) -> Iterator[str]:
    """Names; the many of an image, photo#1 to photo#64, as one."""
    for _, names in groupby(features, lambda name: re.sub(r"#\d+$", "#", name)):
        first, *others = names
        yield f"{first} to {others[-1]}" if others and "#" in first else first


def _plan(plan: PlanReport, backend: str) -> Table:
    """What matters before a run; `securefair plan` and --json show every step."""
    spec, sizes = plan.spec, plan.bytes
    sums = f", {spec.basis} basis, q = {spec.q}" if spec.leaves.rows else ""
    security = f"{plan.security_bits} bits"
    flooding = f"{spec.flooding_bits} bits above all noise that tells of a model"
    if not encrypts(backend):
        security = f"none (these parameters would have {security})"
        flooding = f"none (these parameters would have {spec.flooding_bits} bits)"
    keys, samples = sizes.public_key + sizes.evaluation_keys, sizes.features + sizes.basis
    rows = [
        ("Release", spec.release + sums),
        ("Security", f"{security}; ring degree {count(plan.ring_degree)}"),
        ("Flooding", flooding),
        ("Largest error", f"{plan.error_bound:.2g} in a released number"),
        ("  over its public range", f"{plan.relative_error:.2g}"),
        ("To each peer, once", f"{data_size(keys)} of keys, {data_size(samples)} of samples"),
        ("A question", data_size(sizes.query) if sizes.query else "a frame of a few bytes"),
        ("An answer", data_size(sizes.answer)),
    ]
    return rows_table("Exchange with the participant with the most samples", rows)


def _sums(sums: CheckedSums) -> Table:
    hidden = "hidden from senders" if sums.hides_weights else "known to their senders"
    models = "summed unseen" if sums.hides_parameters else "IN THE OPEN"
    rows = [
        ("Averaging", f"{sums.averaging}: models {models}, weights {hidden}"),
        ("Model", f"{sums.network}, {plural(sums.parameters, 'parameter')}"),
        ("Neighbours", f"{plural(sums.edges, 'pair')}; a sum has {sums.min_senders} or more"),
        (
            "Sums for one neighbour",
            "any number, which tells single models"
            if sums.max_sums is None
            else f"{plural(sums.max_sums, 'round')} at most",
        ),
        ("Largest share", "any" if sums.max_share is None else f"{sums.max_share:.0%} of a sum"),
        ("Comparing gradients", f"{data_size(sums.query_bytes)}, {data_size(sums.answer_bytes)}"),
        ("A share of a sum", data_size(sums.request_bytes + sums.share_bytes)),
        ("Largest error", f"{sums.sum_error:.2g} in a sum, {sums.cosine_error:.2g} in a cosine"),
    ]
    return rows_table("Averages of models", rows)


def _traffic(algorithms: list[CheckedAlgorithm]) -> FittingTable:
    return FittingTable(
        "Traffic of one repetition, all participants together, without frames of messages",
        [
            TableColumn(
                "Algorithm", [algorithm_name(one.name) for one in algorithms], numbers=False
            ),
            TableColumn(
                "Answers", [_between(one.least_answers, one.most_answers) for one in algorithms]
            ),
            TableColumn("At least", [data_size(one.least_bytes) for one in algorithms]),
            TableColumn("At most", [data_size(one.most_bytes) for one in algorithms]),
        ],
    )


def _estimate(cost: Estimate) -> Table:
    rows = [
        ("Computing, as teacher", duration(cost.teacher_hours * HOUR)),
        ("Computing, as student", duration(cost.student_hours * HOUR)),
    ]
    if cost.peak_gigabytes is not None:
        rows.append(("Memory", data_size(cost.peak_gigabytes * 1e9)))
    return rows_table("One hospital at most, on a core of the machine that was measured", rows)


def _disclosure(checked: Checked) -> FittingTable:
    rows = checked.disclosure
    return FittingTable(
        "What a teacher lets out to one student",
        [
            TableColumn("To student", [row.student for row in rows], numbers=False),
            TableColumn("Numbers an\nanswer", [count(row.numbers_per_answer) for row in rows]),
            TableColumn(
                "Limit of\na version", ["none" if r.limit is None else count(r.limit) for r in rows]
            ),
            TableColumn("In a run,\nat most", [count(row.numbers_in_run) for row in rows]),
            TableColumn("Model's\nparameters", [count(row.teacher_parameters) for row in rows]),
            TableColumn(
                "Student's\nlogits", [count(row.student_logits) for row in rows], dispensable=1
            ),
            TableColumn("Answered", ["yes" if row.permitted else "never" for row in rows]),
        ],
    )


def _between(least: int, most: int) -> str:
    return count(most) if least == most else f"{count(least)} to {count(most)}"
