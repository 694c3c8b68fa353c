"""An experiment runs whole, goes on after an interruption, and never mixes folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch

from securefair.errors import ConfigError, DataError
from securefair.report import Progress
from securefair_lab.papers import experiment
from securefair_lab.papers.algorithms.cffl import Cffl
from securefair_lab.papers.comparison import compare, write_comparison
from securefair_lab.papers.experiment import Contender, Experiment, Row
from securefair_lab.papers.origin import origin
from securefair_lab.papers.reference import printed, printed_rows
from securefair_lab.papers.running import compared_rows, finished_runs, origins_of_runs


def rows_of(
    experiment: Experiment,
    out: Path,
    progress: Progress,
    *,
    resume: bool = False,
    papers: Path | None = None,
    device: str = "cpu",
) -> list[Row]:
    finished = finished_runs(
        experiment,
        "smoke",
        seeds=1,
        data=None,
        out=out,
        resume=resume,
        progress=progress,
        device=device,
    )
    return compared_rows(experiment, "smoke", finished, seeds=1, data=None, papers=papers)


def contents(out: Path) -> dict[str, bytes]:
    """But for the states of runs, which say how long they took."""
    return {
        str(p.relative_to(out)): p.read_bytes()
        for p in out.rglob("*")
        if p.is_file() and p.suffix != ".state"
    }


def test_an_interrupted_run_ends_as_if_it_had_not_been(
    tiny: Experiment, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    whole = rows_of(tiny, tmp_path / "whole", silent())
    with pytest.raises(KeyboardInterrupt):
        rows_of(tiny, tmp_path / "cut", silent(stop_after=5))
    assert list((tmp_path / "cut" / "runs").glob("*.jsonl"))
    resumed = rows_of(tiny, tmp_path / "cut", silent(), resume=True)
    assert resumed == whole
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_shared_runs_are_taken_only_where_settings_and_code_agree(
    tiny: Experiment,
    silent: Callable[..., Progress],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (*_, cffl) = tiny.contenders("smoke", None)
    cffl = replace(cffl, rounds=1, algorithm=Cffl(local_epochs=1))
    shared = tmp_path / "shared"

    def runs_after(name: str, contender: Contender) -> int:
        short = replace(tiny, contenders=lambda *_: [contender], claims=())
        finished_runs(
            short,
            "smoke",
            seeds=1,
            data=None,
            out=tmp_path / name,
            resume=False,
            progress=silent(),
            runs=shared,
        )
        return len(list(shared.rglob("*.jsonl")))

    assert runs_after("first", cffl) == 1
    assert runs_after("same", replace(cffl, algorithm=Cffl(local_epochs=1))) == 1
    assert runs_after("other epochs", replace(cffl, algorithm=Cffl(local_epochs=2))) == 2
    more = replace(cffl, members=replace(cffl.members, n=10))
    assert runs_after("other participants", more) == 3
    monkeypatch.setattr(experiment, "code_behind", lambda *_, **__: "other")
    assert runs_after("other code", cffl) == 4


def test_a_run_elsewhere_goes_on_there_with_the_same_result(
    tiny: Experiment,
    silent: Callable[..., Progress],
    tmp_path: Path,
    pretended_device: torch.device,
) -> None:
    device = pretended_device.type
    (*_, cffl) = tiny.contenders("smoke", None)
    cffl = replace(cffl, rounds=2, algorithm=Cffl(local_epochs=1))
    short = replace(tiny, contenders=lambda *_: [cffl], claims=())
    with pytest.raises(KeyboardInterrupt):
        rows_of(short, tmp_path / "cut", silent(stop_after=1), device=device)
    resumed = rows_of(short, tmp_path / "cut", silent(), resume=True, device=device)
    (expected,) = rows_of(short, tmp_path / "here", silent())
    assert [row.metrics for row in resumed] == [pytest.approx(expected.metrics)]
    with pytest.raises(ConfigError, match=f"1 seeds, {device}.* expected .* 1 seeds, cpu"):
        rows_of(short, tmp_path / "cut", silent(), resume=True)


def test_gains_and_fairness_are_over_the_control(
    tiny: Experiment, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    rows = rows_of(tiny, tmp_path, silent())
    assert [row.fields["method"] for row in rows] == ["FedAvg", "CFFL"]
    # FedAvg ends with one model for all, so there is nothing to correlate.
    assert rows[0].metrics == {"fairness": 0.0}
    assert -100 <= rows[1].metrics["fairness"] <= 100


def test_a_folder_of_another_experiment_is_refused(
    tiny: Experiment, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    rows_of(tiny, tmp_path, silent())
    with pytest.raises(ConfigError, match="--resume"):
        rows_of(tiny, tmp_path, silent())
    path = tmp_path / "experiment.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    for key, other, message in (
        ("experiment", "other", "another experiment"),
        ("code", "0123456789abcdef", "other code"),
    ):
        path.write_text(json.dumps({**written, key: other}), encoding="utf-8")
        with pytest.raises(ConfigError, match=message):
            rows_of(tiny, tmp_path, silent(), resume=True)


def test_results_of_another_format_are_refused_by_name(
    tiny: Experiment, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    # As version 0.1 wrote it, which had no format, and as a later one may.
    for written in (
        '{"experiment": "tiny", "size": "smoke", "seeds": 1}',
        '{"format": 99, "experiment": "tiny"}',
    ):
        (tmp_path / "experiment.json").write_text(written, encoding="utf-8")
        with pytest.raises(DataError, match=r"another version of securefair.*expected .format 2"):
            rows_of(tiny, tmp_path, silent(), resume=True)


def test_every_run_says_what_made_it(
    tiny: Experiment, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    rows = rows_of(tiny, tmp_path, silent())
    (one,) = origins_of_runs(tiny, "smoke", seeds=1, folder=tmp_path / "runs")
    assert one == origin(tiny.code("smoke"))
    assert (one.threads, one.device) == (torch.get_num_threads(), "cpu")
    written = write_comparison(compare(tiny, "smoke", 1, rows, [one]), tmp_path)[0]
    assert json.loads(written.read_text(encoding="utf-8"))["origins"] == [msgspec.to_builtins(one)]


def test_the_papers_number_stands_beside_ours(
    tiny: Experiment, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    split = "imbalanced data size"
    row = {"dataset": "MNIST", "split": split, "n": 5, "method": "FedAvg"}
    table = {"id": "cffl.table1", "rows": [{**row, "metrics": {"fairness": 3.08}}]}
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "cffl.json").write_text(json.dumps({"tables": [table]}), encoding="utf-8")
    rows = rows_of(tiny, tmp_path / "out", silent(), papers=papers)
    comparison = compare(tiny, "smoke", 1, rows)
    write_comparison(comparison, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    first, second = written["numbers"]
    assert (first["ours"], first["paper"], first["difference"]) == (0.0, 3.08, -3.08)
    assert first["each"] == [0.0]
    assert (second["paper"], second["difference"]) == (None, None)
    assert (tmp_path / "out" / "comparison.csv").read_text(encoding="utf-8").count("\n") == 3
    assert (tmp_path / "out" / "comparison.png").stat().st_size > 1000


def test_a_row_is_only_compared_when_it_is_the_only_one() -> None:
    rows = [{"n": 5, "metrics": {"a": 1}}, {"n": 5, "x": 1, "metrics": {"a": 2, "b": None}}]
    assert printed(rows, {"n": 5}) == {}
    assert printed(rows, {"n": 5, "x": 1}) == {"a": 2.0}
    assert printed(rows, {"n": 5, "x": None}) == {"a": 1.0}


def test_a_folder_without_the_table_is_an_error(tiny: Experiment, tmp_path: Path) -> None:
    assert printed_rows(tiny, None) == []
    with pytest.raises(DataError, match=r"cffl\.table1"):
        printed_rows(tiny, tmp_path)
    (tmp_path / "cffl.json").write_text('{"tables": []}', encoding="utf-8")
    with pytest.raises(DataError, match=r"cffl\.table1"):
        printed_rows(tiny, tmp_path)
