"""What a finished run may tell a publication: everything but patients.

    README.md            what is here, and how the run is repeated
    config.toml          the configuration, with names of files instead of paths
    versions.json        of the software
    seeds.json           all of them
    metrics.csv          every score by algorithm, hospital and seed
    summary.json         means, standard errors, gains, encryption, disclosure
    tables/*.tex         the same for a paper

No patient, model, message or prediction is among it, and no count of patients below 5, nor what
gives one (`small`).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from securefair.collaboration import toml_of
from securefair.config import RunConfig, override
from securefair.data import csv_text
from securefair.errors import DataError
from securefair.records import RunResult
from securefair.report import write_bytes, write_text
from securefair.run import Outcome
from securefair_lab.runs.latex import fairness_table, gains_table, scores_table
from securefair_lab.runs.small import FEWEST, Small, hidden_counts

_README = """\
# {name}

Results of `securefair run`, without patients: no table, model, message or prediction is here, and
no count of fewer than {fewest} patients. Where a score would give one, such as a sensitivity, it is
left out, and so are means that hold it.

- `config.toml`: what was asked for. Files of data are named without their folders.
- `versions.json`, `seeds.json`: what computed it, and with which seeds.
- `metrics.csv`: every score by algorithm, hospital and seed, on test patients whom no training saw.
- `summary.json`: means, standard errors over test patients, gains over controls, encryption and
  what was disclosed.
- `tables/`: LaTeX.

Whoever has the data repeats it: put the files where `config.toml` names them, then

    securefair run config.toml

Equal seeds give equal models but for the error of the encryption.
"""


def bundle_files(run: Outcome) -> dict[str, str]:
    """The files of the bundle by name.

    Raises:
        DataError: the run kept no scores by seed, as those of networks without stored models.
    """
    small = Small(run.result)
    result = small.without()
    metrics = [metric for one in result.algorithms.values() for metric in one.metrics.values()]
    if not any(metric.by_seed for metric in metrics):
        raise DataError(
            "this run kept no scores by seed",
            where=result.name,
            found="a run of networks without stored models",
            hint="Run it again: securefair run config.toml --restart",
        )
    return {
        "README.md": _README.format(name=result.name, fewest=FEWEST),
        "config.toml": toml_of(without_paths(run.config)),
        "versions.json": _json(dict(run.versions)),
        "seeds.json": _json(result.seeds),
        "metrics.csv": _by_seed(result),
        "summary.json": _json(_summary(result, small)),
        "tables/scores.tex": scores_table(result),
        "tables/gains.tex": gains_table(result),
        # Means over hospitals tell of few patients where one alone does.
        **({"tables/fairness.tex": fairness_table(result)} if small.nothing else {}),
    }


def write_bundle(run: Outcome, out: Path) -> list[str]:
    """Write the bundle into a folder, or into one file where the name ends in .zip.

    Returns:
        The names of the files.

    Raises:
        DataError: see `bundle_files`; or the folder holds something else already.
        OSError: it cannot be written.
    """
    files = bundle_files(run)
    if out.suffix == ".zip":
        write_bytes(out, _zipped(files))
        return list(files)
    if out.exists() and (not out.is_dir() or {p.name for p in out.iterdir()} - _top(files)):
        raise DataError(
            "the folder holds something else", where=str(out), hint="Name a new one with --out"
        )
    for name, text in files.items():
        write_text(out / name, text)
    return list(files)


def _top(files: Mapping[str, str]) -> set[str]:
    return {name.partition("/")[0] for name in files}


def _zipped(files: Mapping[str, str]) -> bytes:
    """Equal files give equal bytes: no clock."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _by_seed(result: RunResult) -> str:
    rows: list[list[object]] = [["algorithm", "score", "hospital", "seed", "value"]]
    for name, one in result.algorithms.items():
        for score, metric in one.metrics.items():
            for hospital, values in metric.by_seed.items():
                for seed, value in zip(result.seeds, values, strict=True):
                    shown = "" if value is None else repr(value)
                    rows.append([name, score, hospital, seed, shown])
    return csv_text(rows)


def _summary(result: RunResult, small: Small) -> dict[str, object]:
    """The conclusions, without what counts few patients."""
    plain: dict[str, object] = msgspec.to_builtins(result)
    plain["class_counts"] = {
        hospital: hidden_counts(counts) for hospital, counts in result.class_counts.items()
    }
    plain["findings"] = {name: len(found) for name, found in result.findings.items()}
    algorithms = msgspec.to_builtins(result.algorithms)
    plain["algorithms"] = algorithms
    small.unshared(plain)
    for one in algorithms.values():
        for counted in ("confusion", "reliability", "thresholds", "pictures"):
            one.pop(counted, None)  # patients, one by one where they are few
        for metric in one.get("metrics", {}).values():
            metric.pop("by_seed", None)  # metrics.csv
    return plain


def without_paths(config: RunConfig) -> RunConfig:
    """A configuration that names files without their folders, and queries without their server."""
    changes: dict[str, object] = {}
    for section, given in (
        ("participants", config.participants),
        ("renewals", config.renewals),
    ):
        people = [one.model_dump(mode="json", exclude_none=True) for one in given]
        for one in people:
            for key in ("file", "test_file"):
                if key in one:
                    one[key] = Path(one[key]).name
            if "data" in one:  # no server and no user
                one["data"] = re.sub(
                    r"^(duckdb:|\w[\w+]*://)[^?]*?([^/?]*)\?", r"\1\2?", str(one["data"])
                )
        if people:
            changes[section] = people
    if config.table is not None and config.table.columns:
        columns = [one.model_dump(mode="json", exclude_none=True) for one in config.table.columns]
        changes["table.columns"] = [
            one | ({"weights": Path(one["weights"]).name} if "weights" in one else {})
            for one in columns
        ]
    if config.privacy is not None and config.privacy.store is not None:
        changes["privacy.store"] = config.privacy.store.name
    if config.data.module_folder is not None:
        changes["data.module_folder"] = None
    if config.run.out is not None:
        changes["run.out"] = None
    return override(config, changes, source="export") if changes else config


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
