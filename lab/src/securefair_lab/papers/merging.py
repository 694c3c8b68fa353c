"""Shards that ran in several places become one folder of results."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from securefair.errors import ConfigError
from securefair_lab.papers.catalogue import experiment_named
from securefair_lab.papers.experiment import Experiment
from securefair_lab.papers.results_folder import (
    Fingerprint,
    check_same,
    claim_folder,
    entry_of,
    read_fingerprint,
    run_files,
)
from securefair_lab.papers.running import runs_folder


def merge(folders: Sequence[Path], out: Path) -> tuple[Experiment, Fingerprint]:
    """Copy all finished runs of some folders into one.

    Args:
        folders: of one experiment, by the code of now.
        out: may be one of them; its own finished runs stay as they are.

    Returns:
        What the folder then belongs to. Whether all runs are there, `running.read_runs` says.

    Raises:
        ConfigError: there are no folders, or they are of different experiments or of other code.
        DataError: a folder holds no reproduction, or a file is damaged.
    """
    if not folders:
        raise ConfigError(
            "name the folders of all shards",
            where="reproduce merge",
            expected="one folder or more, as their --out was",
        )
    first = read_fingerprint(folders[0])
    experiment = experiment_named(first.experiment)
    now = Fingerprint.of(experiment, first.size, first.seeds, first.device)
    for folder in folders:
        check_same(read_fingerprint(folder), now, folder)
    out.mkdir(parents=True, exist_ok=True)
    claim_folder(out, now, resume=True)
    into = runs_folder(experiment, now.size, out=out, runs=None)
    into.mkdir(exist_ok=True)
    for folder in folders:
        source = runs_folder(experiment, now.size, out=folder, runs=None)
        if source.exists() and source.resolve() != into.resolve():
            _copy(experiment, now, source, into)
    return experiment, now


def _copy(experiment: Experiment, of: Fingerprint, source: Path, into: Path) -> None:
    for contender in experiment.contenders(of.size, None):
        for seed in range(of.seeds):
            state = entry_of(source, contender, seed).state
            there = entry_of(into, contender, seed).state
            if state is None or not state.finished or (there is not None and there.finished):
                continue
            # The state comes last: without it the rest does not count.
            for file in run_files(source, contender, seed):
                shutil.copyfile(file, into / file.name)
