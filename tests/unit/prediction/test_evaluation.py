"""What an evaluation says of a table beside the scores."""

import numpy as np
import pytest

from securefair.config import NumericColumn
from securefair.data import TableSpec, Target
from securefair.data.dataset import Samples
from securefair.model.outcomes import outcome_named
from securefair.model.transfer import Polynomial
from securefair.prediction import HospitalModel, ModelRecord, training_facts
from securefair.prediction.evaluation import evaluate

RULE = np.array([[1.0]])
BESIDE = {"time": {"beside": ("died",)}, "count": {"beside": ("years",)}}


def followed(count=80, seed=0):
    """Age, months, whether the event came, and a count with its exposure."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(-1, 1, count)
    times = np.ceil(10 * rng.exponential(20 * np.exp(-age))) / 10
    left = rng.uniform(5, 60, count)
    years = rng.uniform(0.5, 2, count)
    return {
        "age": age,
        "months": np.minimum(times, left),
        "died": (times <= left).astype(int),
        "falls": rng.poisson(years * np.exp(age)),
        "years": years,
    }


@pytest.fixture
def model():
    """Of the patients of seed 0, by what it predicts."""

    def made(outcome, label):
        columns, kind = followed(), outcome_named(outcome)
        beside = [columns[one] for one in BESIDE[outcome]["beside"]]
        known = kind.known(np.column_stack([columns[label], *beside]), None)
        samples = Samples(
            columns["age"][:, None], known.labels, 2, outcome=outcome, values=known.values
        )
        record = ModelRecord(
            hospital="north",
            run="r",
            algorithm="transfer",
            seed=0,
            classes=[],
            table=TableSpec(
                columns=[NumericColumn(name="age", low=-1, high=1)],
                target=Target(name=label, outcome=outcome, **BESIDE[outcome]),
            ),
            feature_range=None,
            **training_facts(samples)._asdict(),
            patients=80,
            outcome=outcome,
            own={k: list(v) for k, v in kind.own_part(samples.features, samples).items()},
        )
        return HospitalModel(record, Polynomial(np.zeros(1), RULE))

    return made


@pytest.fixture
def evaluated(tmp_path, model):
    """Warnings, and scores, of a model on a table."""

    def found(columns, outcome="time", label="months", **options):
        rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        (tmp_path / "t.csv").write_text("\n".join([",".join(columns), *rows]))
        return evaluate(model(outcome, label), tmp_path / "t.csv", **options)

    return found


def test_ordinary_patients_of_another_year_have_nothing_to_look_at(evaluated):
    assert evaluated(followed(seed=1)).warnings == ()
    assert evaluated(followed(seed=1), "count", "falls").warnings == ()


@pytest.mark.parametrize(
    ("factor", "said"),
    [(1 / 12, "are times, or exposures, in the unit"), (30.4, "the latest of training")],
    ids=["years", "days"],
)
def test_times_in_another_unit_are_asked_about(evaluated, factor, said):
    columns = followed(seed=1)
    (warning,) = evaluated(columns | {"months": columns["months"] * factor}).warnings
    assert said in warning


def test_exposures_in_another_unit_are_asked_about(evaluated):
    columns = followed(seed=1)
    months = columns | {"years": 12 * columns["years"]}
    (warning,) = evaluated(months, "count", "falls").warnings
    assert "are times, or exposures, in the unit of training" in warning


@pytest.mark.parametrize(("events", "said"), [(0, "0 events"), (1, "1 event"), (4, "4 events")])
def test_few_events_are_scored_and_told_though_no_study_could_learn_of_them(
    evaluated, events, said
):
    """Nothing is held out in an evaluation."""
    columns = followed(seed=1, count=40)
    found = evaluated(columns | {"died": (np.arange(40) < events).astype(int)})
    (warning,) = [one for one in found.warnings if "standard error" in one]
    assert warning.startswith(f"{said} among these patients")
    assert (found.scores["concordance"] is None) == (not events)
    assert found.page.scores["integrated_brier"].se is None


def test_rows_that_repeat_are_told_and_where_to_name_the_patients(evaluated):
    once = followed(seed=1)
    twice = {name: np.repeat(cells, 2) for name, cells in once.items()}
    (warning,) = evaluated(twice).warnings
    assert "80 rows repeat an earlier row" in warning
    assert "--patient-column" in warning
    named = twice | {"case": np.repeat(np.arange(80), 2)}
    assert "80 rows repeat" in evaluated(named).warnings[0]  # no heading of patients
    named = twice | {"case_id": np.repeat(np.arange(80), 2)}
    (warning,) = evaluated(named).warnings
    assert "column case_id names patients, and 80 rows are of a patient" in warning
    assert evaluated(named, patient_column="case_id").warnings == ()
