"""The files of a finished run: written whole, and read back for reports and comparisons.

`metrics.json` holds what equal seeds repeat in the clear, and with encryption as far as its error
allows. What depends on the machine and the moment is in `measured.json`: seconds, and how far
encryption was off with the keys that were drawn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from securefair.collaboration.kept import KeptModel
from securefair.collaboration.kinds import toml_of
from securefair.config import load_config
from securefair.errors import DataError
from securefair.prediction.effects import ESTIMATES, estimates_csv, read_estimates
from securefair.prediction.folder import (
    MODELS,
    folder_name,
    load_card,
    load_model,
    remove_model,
    save_model,
)
from securefair.records import (
    ExchangeRecord,
    LedgerRow,
    RoundRecord,
    RunResult,
    TrafficRow,
)
from securefair.report import (
    read_json,
    read_json_lines,
    render_report,
    write_json,
    write_json_lines,
    write_text,
)
from securefair.report.html import file_name
from securefair.run.checkpoint import FOLDER as UNFINISHED
from securefair.run.checkpoint import (
    Checkpoint,
    is_finished,
    is_run,
    is_unfinished,
    resume_command,
)
from securefair.run.results import RESULT_FORMAT, Outcome
from securefair.words import ENGLISH, languages

SMALLER = "smaller"
"""Folder of a run that holds the same run with fewer training samples, where asked for."""

RECORDS = (
    "config.toml",
    "rounds.jsonl",
    "exchanges.jsonl",
    "ledger.json",
    "traffic.json",
    "measured.json",
)
"""Files of every run beside metrics.json."""

MEASURED = ("error_over_range", "seconds")
"""Fields of `EncryptionResult` that equal seeds do not repeat."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """measured.json: what another run of the same seeds would not repeat.

    Attributes:
        encryption: the `MEASURED` fields of the result's encryption; empty without encryption.
        interrupted: how often the run was taken up again.
        repeated_bytes: keys and features sent once more because of that.
        versions: versions of the software.
    """

    encryption: dict[str, float]
    interrupted: int
    repeated_bytes: int
    versions: dict[str, str]


def write_outcome(outcome: Outcome, out: Path) -> None:
    """Write every file of a run, each atomically, the report last; its checkpoint is then removed.

    What an earlier run left in the same place, and this one does not have, goes. What no run wrote
    stays.

    Args:
        outcome: outcome of `run_resolved`.
        out: folder of the results.

    Raises:
        OSError: the folder cannot be written.
    """
    ours = is_run(out)
    if outcome.smaller is not None:
        write_outcome(outcome.smaller, out / SMALLER)
    elif ours and is_finished(out / SMALLER):
        _remove_run(out / SMALLER)
    metrics, measured = _divided(outcome.result)
    write_text(out / "config.toml", toml_of(outcome.config))
    write_json_lines(out / "rounds.jsonl", [*outcome.rounds, *outcome.further])
    write_json_lines(out / "exchanges.jsonl", outcome.exchanges)
    write_json(out / "ledger.json", outcome.ledger)
    write_json(out / "traffic.json", outcome.traffic)
    write_json(
        out / "measured.json",
        Measured(
            encryption=measured,
            interrupted=outcome.interrupted,
            repeated_bytes=outcome.repeated_bytes,
            versions=dict(outcome.versions),
        ),
    )
    if ours:
        _remove_models(out / MODELS)
    _write_models(outcome.models, out / MODELS)
    estimates = {one.model.record.hospital: one.estimates for one in outcome.models}
    if any(estimates.values()):
        write_text(out / ESTIMATES, estimates_csv(estimates))
    elif ours:
        (out / ESTIMATES).unlink(missing_ok=True)
    write_json(out / "metrics.json", metrics)
    if outcome.config.report.html:
        write_page(outcome, out)
    if is_unfinished(out):
        Checkpoint(out / UNFINISHED, resumed=False).remove()


def _remove_run(out: Path) -> None:
    """What `write_outcome` wrote goes, and the folder too unless it holds what it did not."""
    (out / "metrics.json").unlink()  # first: it says that the rest is there
    for name in (*RECORDS, ESTIMATES):
        (out / name).unlink(missing_ok=True)
    for language in languages():
        (out / file_name(language)).unlink(missing_ok=True)
    _remove_models(out / MODELS)
    if is_unfinished(out):
        Checkpoint(out / UNFINISHED, resumed=False).remove()
    with contextlib.suppress(OSError):
        out.rmdir()


def _remove_models(folder: Path) -> None:
    """Those of an earlier run go; whatever else lies there is not ours."""
    for place in folder.glob("*"):
        if not place.is_symlink():
            remove_model(place)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _write_models(models: Sequence[KeptModel], folder: Path) -> None:
    """One folder a participant."""
    for kept in models:
        place = folder / folder_name(kept.model.record.hospital)
        save_model(kept.model, place, card=kept.card, estimates=kept.estimates)


def _read_models(folder: Path, hospitals: Sequence[str]) -> list[KeptModel]:
    """Those that are there: runs of the library may have none."""
    places = [folder / folder_name(name) for name in hospitals]
    return [
        KeptModel(load_model(place), load_card(place), read_estimates(place / ESTIMATES))
        for place in places
        if place.is_dir()
    ]


def write_page(outcome: Outcome, out: Path, *, language: str = ENGLISH) -> Path:
    """The report of a run, from its records alone; returns its path.

    Raises:
        ConfigError: there are no words in this language.
        OSError: the folder cannot be written.
    """
    page = render_report(
        result=outcome.result,
        smaller=None if outcome.smaller is None else outcome.smaller.result,
        rounds=outcome.rounds,
        exchanges=outcome.exchanges,
        ledger=outcome.ledger,
        traffic=outcome.traffic,
        config=outcome.config,
        versions=outcome.versions,
        models=[one.model for one in outcome.models],
        estimates={one.model.record.hospital: one.estimates for one in outcome.models},
        language=language,
    )
    return write_text(out / file_name(language), page)


def _where_instead(folder: Path) -> str:
    """Where a run may be, for whoever names its project or configuration."""
    place = folder if folder.is_dir() else folder.parent
    run = Path("runs") / place.name
    if (run / "metrics.json").exists():
        return f"Did you mean {run}?"
    if (folder / "ledger.json").exists():
        return "A file of this run is gone: run the configuration again"
    for place in (folder, folder / "results"):
        if (place / "report.html").exists():  # a site knows its own part alone
            return f"A site wrote its report: {place / 'report.html'}"
    if is_unfinished(folder):
        return f"Finish the interrupted run: {resume_command(folder)}"
    return "A run writes runs/NAME, or the folder that --out names"


def read_run(folder: Path) -> Outcome:
    """A finished run.

    Raises:
        DataError: the folder holds none, or a file is damaged; names the file.
        ConfigError: its configuration cannot be read by this version.
    """
    if not (folder / "metrics.json").exists():
        raise DataError(
            "this is no folder of a finished run",
            where=str(folder),
            expected="a folder with metrics.json",
            hint=_where_instead(folder),
        )
    result, measured = read_result(folder)
    inner = folder / SMALLER
    rounds = read_json_lines(folder / "rounds.jsonl", RoundRecord)
    first = (None, result.seeds[0])  # None: there are no others, or 0.2.0 left them out
    return Outcome(
        config=load_config(folder / "config.toml"),
        versions=measured.versions,
        result=result,
        rounds=[one for one in rounds if one.seed in first],
        further=[one for one in rounds if one.seed not in first],
        exchanges=read_json_lines(folder / "exchanges.jsonl", ExchangeRecord),
        ledger=read_json(folder / "ledger.json", list[LedgerRow]),
        traffic=read_json(folder / "traffic.json", list[TrafficRow]),
        interrupted=measured.interrupted,
        repeated_bytes=measured.repeated_bytes,
        models=_read_models(folder / MODELS, [own.name for own in result.participants]),
        smaller=read_run(inner) if (inner / "metrics.json").exists() else None,
    )


def read_result(folder: Path) -> tuple[RunResult, Measured]:
    """The conclusions of a run with what was measured.

    Raises:
        DataError: a file is missing or damaged, or the run is of another version of securefair.
    """
    metrics: dict[str, Any] = read_json(folder / "metrics.json", dict[str, Any])
    if metrics.get("format") != RESULT_FORMAT:
        raise DataError(
            "the run was written by another version of securefair",
            where=str(folder / "metrics.json"),
            found=f"format {metrics.get('format')}",
            expected=f"format {RESULT_FORMAT}",
            hint="Run its config.toml again",
        )
    measured = read_json(folder / "measured.json", Measured)
    if isinstance(encryption := metrics.get("encryption"), dict):
        metrics["encryption"] = encryption | measured.encryption
    try:
        return msgspec.convert(metrics, RunResult), measured
    except msgspec.ValidationError as error:
        raise DataError(
            "this is not the record it should be",
            where=str(folder / "metrics.json"),
            found=str(error),
            hint="If another version of securefair wrote it: run its config.toml again",
        ) from error


def _divided(result: RunResult) -> tuple[dict[str, Any], dict[str, float]]:
    """A result as metrics.json has it, and what was measured."""
    metrics: dict[str, Any] = msgspec.to_builtins(result)
    encryption = metrics["encryption"]
    if encryption is None:
        return metrics, {}
    return metrics, {name: encryption.pop(name) for name in MEASURED}
