"""What the papers' tables print satisfies every claim that our runs are judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.experiment import Experiment, Row
from securefair_lab.papers.reference import printed, printed_rows

PRINTED = [name for name, e in EXPERIMENTS.items() if e.reference is not None and e.claims]
UNPRINTED = ("least gain", "reputation of flippers")
"""Metrics that the papers show in figures or words only."""


def row_of(fields: Mapping[str, Any], metrics: Mapping[str, float]) -> Row:
    return Row(fields=fields, metrics=metrics, spread={}, paper={})


def papers_rows(experiment: Experiment, papers: Path) -> list[Row]:
    """The paper's numbers under the fields of our rows, with gains where it prints accuracies.

    DPFL's later tables leave training alone to the first.
    """
    table = printed_rows(experiment, papers)
    contenders = experiment.contenders("paper", None)
    if not contenders:
        return [row_of(line, line["metrics"]) for line in table]
    first = printed_rows(EXPERIMENTS["dpfl-table1"], papers) if experiment.paper == "dpfl" else []
    numbers = [
        printed(table, contender.printed_as)
        or (printed(first, contender.printed_as) if contender.control else {})
        for contender in contenders
    ]
    alone = {c.setting: own for c, own in zip(contenders, numbers, strict=True) if c.control}
    return [
        row_of(contender.fields, {**own, **least_gain(own, alone.get(contender.setting, {}))})
        for contender, own in zip(contenders, numbers, strict=True)
        if own
    ]


def least_gain(after: Mapping[str, float], alone: Mapping[str, float]) -> dict[str, float]:
    everyone = [name for name in after.keys() & alone.keys() if name[1:].isdigit()]
    return {"least gain": min(after[p] - alone[p] for p in everyone)} if everyone else {}


def judged(experiment: Experiment, rows: Sequence[Row]) -> dict[str, bool]:
    found = {}
    for claim in experiment.claims:
        try:
            found[claim.words] = claim.holds(rows)
        except KeyError as missing:
            if missing.args[0] not in UNPRINTED:
                raise
    return found


@pytest.mark.parametrize("name", PRINTED)
def test_the_papers_own_numbers_satisfy_its_claims(papers: Path, name: str) -> None:
    found = judged(EXPERIMENTS[name], papers_rows(EXPERIMENTS[name], papers))
    assert found
    assert [words for words, holds in found.items() if not holds] == []


def test_a_claim_that_the_numbers_contradict_is_found(papers: Path) -> None:
    rows = [
        replace(row, metrics={"accuracy": 99.0}) if row.fields["method"] == "FedAvg" else row
        for row in papers_rows(EXPERIMENTS["dpfl-table1"], papers)
    ]
    found = judged(EXPERIMENTS["dpfl-table1"], rows)
    failed = {words for words, holds in found.items() if not holds}
    assert failed == {words for words in found if "above FedAvg," in words}
