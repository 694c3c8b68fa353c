"""Nobody finds a count of fewer than five patients in a bundle, by the scores beside it either."""

import csv
import io
import json

import msgspec
import numpy as np
import pytest

from securefair.config import demo_config
from securefair.records import AlgorithmResult, MetricResult, ParticipantResult, RunResult
from securefair.run import Outcome
from securefair_lab.runs.bundle import bundle_files
from securefair_lab.runs.small import SHARES, Small, hidden_counts

SIZES = {"north": (60, 25), "south": (40, 4), "west": (90, 45)}
RARE = {"north": [[20, 5], [6, 9]], "south": [[36, 0], [1, 3]], "west": [[20, 10], [10, 20]]}
COMMON = {"north": [[25, 0], [15, 0]], "south": [[36, 0], [4, 0]], "west": [[30, 0], [30, 0]]}
WELL = {"north": [[20, 5], [6, 9]], "south": [[20, 5], [9, 6]], "west": [[20, 10], [10, 20]]}


def score(values, seeds=1):
    by_hospital = {name: float(np.round(value, 5)) for name, value in values.items()}
    return MetricResult(
        mean=float(np.mean(list(values.values()))),
        se=0.1,
        by_hospital=by_hospital,
        se_by_hospital=dict.fromkeys(values, 0.1),
        by_seed={name: [value] * seeds for name, value in by_hospital.items()},
    )


def algorithm(confusion, seeds=1):
    """Every seed tells the same of a hospital."""
    found = {name: np.array(matrix, dtype=float) for name, matrix in confusion.items()}
    recalls = {name: np.diag(one) / one.sum(axis=1) for name, one in found.items()}
    shares = {
        "accuracy": {name: np.trace(one) / one.sum() for name, one in found.items()},
        "balanced_accuracy": {name: one.mean() for name, one in recalls.items()},
    }
    if len(next(iter(found.values()))) == 2:
        shares["specificity"] = {name: one[0] for name, one in recalls.items()}
        shares["sensitivity"] = {name: one[1] for name, one in recalls.items()}
    flat = dict.fromkeys(found, 0.5)
    metrics = {name: score(values, seeds) for name, values in shares.items()}
    others = {
        name: score(flat, seeds) for name in ("auc", "log_loss", "brier", "calibration_error")
    }
    accuracy = [float(one) for one in shares["accuracy"].values()]
    return AlgorithmResult(
        mva=0.5, mcg=0.0, cgs=0.0, cgs_ddof1=0.0,
        accuracy=accuracy, gain=[0.0] * 3, accuracy_spread=[0.0] * 3, gain_spread=[0.0] * 3,
        mva_spread=0.0, mcg_spread=0.0, cgs_spread=0.0,
        metrics=metrics | others,
        gain_over_best_control=metrics | others,
        best_control="most_common",
        confusion={name: (seeds * one).astype(int).tolist() for name, one in found.items()},
    )  # fmt: skip


def results(transfer=RARE, common=COMMON, seeds=1, counts=None):
    tested = {name: int(np.sum(matrix)) for name, matrix in transfer.items()}
    return RunResult(
        format=2,
        name="p",
        seeds=list(range(seeds)),
        algorithm="transfer",
        participants=[
            ParticipantResult(
                name=name, samples=3 * tested[name], train_samples=2 * tested[name],
                test_samples=tested[name], majority_accuracy=0.5, standalone_accuracy=0.5,
                accuracy=0.5, gain=0.0, accuracy_spread=0.0, gain_spread=0.0,
            )
            for name in tested
        ],
        algorithms={
            "most_common": algorithm(common, seeds),
            "transfer": algorithm(transfer, seeds),
        },
        encryption=None,
        class_counts=counts
        or {
            name: [3 * int(n) for n in np.sum(matrix, axis=1)] for name, matrix in transfer.items()
        },
        findings={"south": ["3 patients"]},
    )  # fmt: skip


def bundled(result):
    run = Outcome(
        config=demo_config(), versions={}, result=result, rounds=[], exchanges=[], ledger=[],
        traffic=[],
    )  # fmt: skip
    return bundle_files(run)


def derived(files):
    """(hospital, algorithm): counts that follow from shares, as the audit of November did it."""
    summary = json.loads(files["summary.json"])
    sizes = {one["name"]: one["test_samples"] for one in summary["participants"]}
    rows = csv.DictReader(io.StringIO(files["metrics.csv"]))
    told = {
        (row["algorithm"], row["score"], row["hospital"]): float(row["value"])
        for row in rows
        if row["value"]
    }
    for one in summary["algorithms"]:  # a mean, less all others, is the one that is missing
        for share in SHARES:
            mean = summary["algorithms"][one]["metrics"].get(share, {"mean": None})["mean"]
            missing = [name for name in sizes if (one, share, name) not in told]
            if mean is not None and len(missing) == 1:
                others = sum(told[one, share, name] for name in sizes if name not in missing)
                told[one, share, missing[0]] = len(sizes) * mean - others
    found = {}
    for name, n in sizes.items():
        common = told.get(("most_common", "accuracy", name))
        ill = None if common is None else round((1 - common) * n)
        for one in summary["algorithms"]:
            counts = []
            for share, patients in (
                ("accuracy", n),
                ("sensitivity", ill),
                ("specificity", None if ill is None else n - ill),
            ):
                value = told.get((one, share, name))
                if value is not None and patients is not None:
                    counts += [round(value * patients), round((1 - value) * patients)]
            found[name, one] = counts
    return found


def test_what_the_audit_derived_is_no_longer_there():
    files = bundled(results())
    found = derived(files)
    assert all(count == 0 or count >= 5 for counts in found.values() for count in counts)
    assert found["north", "transfer"]  # which are many
    assert found["south", "transfer"] == found["south", "most_common"] == []
    summary = json.loads(files["summary.json"])
    assert summary["algorithms"]["transfer"]["metrics"]["accuracy"]["mean"] is None
    assert summary["algorithms"]["transfer"]["metrics"]["log_loss"]["mean"] == 0.5
    assert summary["algorithms"]["most_common"]["metrics"]["log_loss"]["mean"] is None
    gains = summary["algorithms"]["transfer"]["gain_over_best_control"]  # which is that control
    assert gains["log_loss"]["mean"] is None  # with the mean above it would give what is hidden
    assert summary["algorithms"]["transfer"]["metrics"]["auc"]["by_hospital"]["south"] is None
    assert "accuracy" not in summary["participants"][0]
    assert "3 patients" not in files["summary.json"]


def test_the_derivation_finds_them_where_nothing_is_hidden(monkeypatch):
    monkeypatch.setattr(Small, "without", lambda self: self._result)
    assert 1 in derived(bundled(results()))["south", "transfer"]


def test_where_no_count_is_small_all_is_told():
    well = results(WELL, {name: [[25, 0], [15, 0]] for name in SIZES})
    assert Small(well).nothing
    summary = json.loads(bundled(well)["summary.json"])
    assert summary["algorithms"]["transfer"]["mva"] == 0.5
    assert summary["class_counts"] == {
        name: list(counts) for name, counts in well.class_counts.items()
    }
    assert not {"confusion", "thresholds", "pictures"} & set(summary["algorithms"]["transfer"])


def test_a_share_within_intervals_is_of_test_patients_too():
    """Of numbers, which have no table of who was told what."""
    result = results(WELL, WELL)
    sizes = {one.name: one.test_samples for one in result.participants}
    inside = {name: 1 - (3 if name == "south" else 0) / size for name, size in sizes.items()}
    numbers = {
        name: msgspec.structs.replace(one, confusion={}, metrics={"coverage": score(inside)})
        for name, one in result.algorithms.items()
    }
    small = Small(msgspec.structs.replace(result, algorithms=numbers))
    assert small.shares["transfer"] - small.of_a_class == {"south"}
    told = small.without().algorithms["transfer"].metrics["coverage"]
    assert told.mean is None
    assert [name for name, value in told.by_hospital.items() if value is None] == ["south"]


def test_of_several_seeds_each_must_be_of_many():
    """A cell of ten over ten seeds is one a seed, which every seed's sensitivity tells."""
    few = {**WELL, "south": [[20, 5], [1, 14]]}
    common = {name: [[25, 0], [15, 0]] for name in SIZES}
    assert Small(results(few, common, seeds=10)).shares["transfer"] == {"south"}
    assert Small(results(WELL, common, seeds=10)).nothing


def test_a_few_training_patients_of_a_class_count_as_well():
    """The total less those that were tested."""
    result = results(WELL, WELL, counts={**{name: [75, 45] for name in SIZES}, "west": [90, 34]})
    assert Small(result).of_a_class == {"west"}


@pytest.mark.parametrize("wrong", [3, 8])
def test_of_three_classes_each_must_be_of_many(wrong):
    matrix = [[20, 0, 0], [wrong, 20, 0], [0, 0, 20]]
    one = algorithm(dict.fromkeys(SIZES, matrix))
    result = msgspec.structs.replace(
        results(WELL, WELL), algorithms={"transfer": one}, class_counts={}
    )
    assert Small(result).nothing == (wrong == 8)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ([36, 4], ["not told"] * 2),
        ([36, 0], [36, 0]),
        ([30, 6, 4], ["not told", 6, "not told"]),
        ([30, 30], [30, 30]),
        ([], []),
    ],
)
def test_the_largest_count_goes_with_a_small_one(counts, told):
    assert hidden_counts(counts) == told
