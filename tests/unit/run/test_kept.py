"""What a run leaves its participants, from a configuration to a prediction."""

import numpy as np
import pytest

from securefair import load_model
from securefair.config import demo_config, override
from securefair.model.stored import to_bytes
from securefair.prediction.card import markdown
from securefair.prediction.effects import effects
from securefair.run.folder import read_run, write_outcome
from support.experiments import run_experiment
from support.few import few_patients

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]

SMALL = {
    "run.algorithms": ["standalone", "vpdl", "cycle"],
    "run.smaller": None,
    "encryption.backend": "clear",
    "model.kind": "linear",
    "distillation.q": 16,
    "training.rounds": 2,
    "training.local_epochs": 2,
    "run.seeds": [3, 4],
}


class Silent:
    def start(self, *_, **__):
        return self

    def advance(self, _): ...

    def finish(self): ...


def last(outcome, algorithm):
    return [record for record in outcome.rounds if record.algorithm == algorithm][-1]


@pytest.fixture(scope="module")
def outcome():
    return run_experiment(override(demo_config(), SMALL, source="test"), Silent())


def test_everyone_keeps_the_model_of_the_first_seed_after_the_last_round(outcome):
    assert [one.model.record.hospital for one in outcome.models] == [
        own.name for own in outcome.result.participants
    ]
    scores = [one.card.model.scores["accuracy"] for one in outcome.models]
    assert scores == pytest.approx(last(outcome, outcome.result.algorithm).accuracy)
    for name in ("standalone", "early_stopping"):
        controls = [one.card.controls[name].scores["accuracy"] for one in outcome.models]
        assert controls == pytest.approx(last(outcome, name).accuracy)


def test_the_card_counts_what_the_ledger_counts(outcome):
    kept = outcome.models[0]
    rows = [row for row in outcome.ledger if row.algorithm == outcome.result.algorithm]
    mine = [row for row in rows if row.student == kept.card.hospital]
    assert sum(one.numbers_received for one in kept.card.taught) == sum(
        row.numbers_total for row in mine
    )
    assert kept.model.record.seed == 3
    assert "The run had 2 seeds; the model is of the first one." in kept.card.limits


def test_a_stored_model_predicts_for_the_patients_it_was_tested_on(outcome, tmp_path):
    write_outcome(outcome, tmp_path)
    model = load_model(tmp_path / "models" / "Hungary")
    test = next(own for own in few_patients(3, 1 / 3) if own.name == "Hungary").test
    names = model.classes_.tolist()
    chosen = np.array([names.index(one) for one in model.predict(test.features).tolist()])
    place = [own.name for own in outcome.result.participants].index("Hungary")
    assert (chosen == test.labels).mean() == last(outcome, "cycle").accuracy[place]


def test_a_transfer_is_calibrated_by_patients_that_were_held_out(tmp_path):
    alone = {"run.algorithms": ["standalone", "transfer"], "run.seeds": [3]}
    config = override(demo_config(), SMALL | alone, source="test")
    outcome = run_experiment(config, Silent())
    metrics = outcome.result.algorithms["transfer"].metrics["log_loss"].by_hospital
    for one in outcome.models:
        found = one.model.record.calibration
        assert (found.method, found.patients) == ("temperature", one.model.record.patients)
        assert found.temperature != 1
        assert one.card.uncalibrated.scores["log_loss"] == pytest.approx(
            metrics[one.card.hospital], abs=1e-5
        )
        assert one.card.uncalibrated.confusion == one.card.model.confusion
        assert one.card.uncalibrated.scores["log_loss"] != one.card.model.scores["log_loss"]
        assert {row.fit for row in one.estimates} == {"alone", "together"}
        assert {row.effect for row in one.estimates} == {"odds_ratio"}
    people = {own.name: own for own in few_patients(3, 1 / 3)}
    for one in outcome.models:  # fitted to everybody, measured on those held out
        own = people[one.card.hospital]
        assert one.model.record.patients == len(own.train) + len(own.test) == one.card.fitted_to
        assert sum(one.card.train_by_class.values()) == len(own.train)
        assert one.model.record.low == own.whole().features.min(axis=0).tolist()
        assert f"fitted anew to all {one.card.fitted_to} patients" in markdown(one.card)
        grown = {(row.column, row.step or 0, row.code): row.growth for row in effects(one.model)}
        told = [row for row in one.estimates if row.fit == "together"]
        pairs = [(row.value, np.exp(grown[row.column, row.step or 0, row.code])) for row in told]
        apart = np.log(pairs)
        assert np.corrcoef(apart.T)[0, 1] > 0.95
        probabilities = one.model.predict_proba(own.test.features)
        chosen = probabilities[np.arange(len(own.test)), own.test.labels]
        assert -np.log(chosen).mean() != pytest.approx(metrics[own.name], abs=1e-5)

    class Interrupting(Silent):
        def advance(self, record):
            if record.algorithm == "transfer":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Interrupting(), out=tmp_path)
    resumed = run_experiment(config, Silent(), out=tmp_path, resume=True)
    assert [one.card for one in resumed.models] == [one.card for one in outcome.models]
    assert [one.estimates for one in resumed.models] == [one.estimates for one in outcome.models]
    for one, other in zip(resumed.models, outcome.models, strict=True):
        assert to_bytes(one.model.function) == to_bytes(other.model.function)
    write_outcome(outcome, tmp_path / "done")
    rows = (tmp_path / "done" / "estimates.csv").read_text().splitlines()
    assert len(rows) == 1 + sum(len(one.estimates) for one in outcome.models)
    again = read_run(tmp_path / "done").models[0].estimates
    assert [row.column for row in again] == [row.column for row in outcome.models[0].estimates]


def test_whoever_trains_alone_keeps_a_model_that_nobody_taught():
    config = override(demo_config(), SMALL | {"run.algorithms": ["standalone"]}, source="test")
    outcome = run_experiment(config, Silent())
    assert all(one.card.taught == [] for one in outcome.models)
    scores = [one.card.model.scores["accuracy"] for one in outcome.models]
    assert scores == pytest.approx(last(outcome, "standalone").accuracy)


def test_an_interrupted_run_keeps_what_an_uninterrupted_one_keeps(outcome, tmp_path):
    class Interrupting(Silent):
        def advance(self, record):
            if record.algorithm == "cycle" and record.round == 0:
                raise KeyboardInterrupt

    config = override(demo_config(), SMALL, source="test")
    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Interrupting(), out=tmp_path)
    resumed = run_experiment(config, Silent(), out=tmp_path, resume=True)
    assert [one.card for one in resumed.models] == [one.card for one in outcome.models]
