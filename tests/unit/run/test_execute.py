import numpy as np
import pytest

from securefair.config import demo_config, load_config, override
from securefair.errors import ConfigError, PlanError, SecureFairError
from securefair.prediction.versions import versions
from securefair.records import RoundRecord
from securefair.report import read_json_lines
from securefair.run.folder import read_result, write_outcome
from support.experiments import run_experiment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]

SMALL = {
    "run.algorithms": ["standalone", "vpdl", "cycle"],
    "run.smaller": None,
    "encryption.backend": "clear",
    "model.kind": "linear",
    "distillation.q": 16,
    "training.rounds": 2,
    "training.local_epochs": 2,
    "run.seeds": [0],
}


def small(**changes):
    return override(demo_config(), SMALL | changes, source="test")


class Listener:
    """A progress display that remembers what it was told."""

    def __init__(self):
        self.told = []

    def start(self, algorithm, rounds, seed=None, **_):
        self.told.append((algorithm, rounds, seed))
        return self

    def advance(self, record):
        self.told.append(record)

    def finish(self):
        self.told.append("done")


@pytest.fixture(scope="module")
def listener():
    return Listener()


@pytest.fixture(scope="module")
def outcome(listener):
    """The small run, and what a display heard of it."""
    return run_experiment(small(), listener)


class TestRun:
    def test_progress_hears_of_every_round_of_every_algorithm(self, outcome, listener):
        starts = [told for told in listener.told if isinstance(told, tuple)]
        records = [told for told in listener.told if isinstance(told, RoundRecord)]
        controls = ("standalone", "early_stopping", "averaged_alone", "alone-forest",
                    "alone-ensemble", "most_common")  # fmt: skip
        assert starts == [
            *((name, 1, None) for name in controls),
            *((name, 2, None) for name in ("vpdl", "cycle")),
        ]
        assert records == outcome.rounds
        assert listener.told.count("done") == 8

    def test_several_seeds_are_told_apart(self):
        listener = Listener()
        run_experiment(small(**{"run.seeds": [3, 5], "run.algorithms": ["standalone"]}), listener)
        assert [told for told in listener.told if isinstance(told, tuple)] == [
            ("standalone", 1, 3),
            ("standalone", 1, 5),
        ]

    def test_the_order_of_algorithms_changes_no_record(self, outcome):
        """Each starts anew from the seed, so none may leave a trace in another."""
        algorithms = ["cycle", "vpdl", "standalone"]
        other = run_experiment(small(**{"run.algorithms": algorithms}), Listener())
        for name in algorithms:
            assert [r for r in outcome.rounds if r.algorithm == name] == [
                r for r in other.rounds if r.algorithm == name
            ]

    def test_rounding_is_reported_for_whoever_was_evaluated_under_encryption(self, outcome):
        for own in outcome.result.participants:
            assert 0 < own.quantization.max_abs_logit_change < 0.1
            assert own.quantization.accuracy_before == own.accuracy
            assert abs(own.quantization.accuracy_after - own.accuracy) < 0.05
            assert 1 <= own.quantization.weight_bits <= 12
        alone = run_experiment(small(**{"run.algorithms": ["standalone"]}), Listener())
        assert {own.quantization for own in alone.result.participants} == {None}

    def test_rounding_over_seeds_keeps_the_worst_change_and_means_accuracies(self, outcome):
        other = run_experiment(small(**{"run.seeds": [1]}), Listener())
        each = [outcome.result, other.result]
        both = run_experiment(small(**{"run.seeds": [0, 1]}), Listener()).result
        for n, own in enumerate(both.participants):
            single = [result.participants[n].quantization for result in each]
            found = own.quantization
            assert found.max_abs_logit_change == max(q.max_abs_logit_change for q in single)
            assert found.weight_bits == max(q.weight_bits for q in single)
            for name in ("accuracy_before", "accuracy_after"):
                mean = np.mean([getattr(q, name) for q in single])
                assert getattr(found, name) == pytest.approx(mean)


class TestRefusals:
    def test_too_few_samples_are_named_before_anything_runs(self):
        listener = Listener()
        with pytest.raises(
            PlanError,
            match=r"^VA Long Beach, q: .*fewer than the student's 32 samples.*q = 16 or less",
        ):
            run_experiment(small(**{"distillation.q": 100}), listener)
        assert listener.told == []

    def test_the_smallest_participant_is_named_where_several_are_too_small(self):
        with pytest.raises(PlanError, match=r"^VA Long Beach, q: "):
            run_experiment(small(**{"distillation.q": 300}), Listener())

    def test_alone_nobody_needs_a_plan(self):
        changes = {"distillation.q": 300, "run.algorithms": ["standalone"]}
        assert run_experiment(small(**changes), Listener()).result.encryption is None

    def test_a_precision_beyond_all_parameters_names_the_nearest(self):
        with pytest.raises(
            PlanError, match=r"^VA Long Beach, precision: .*expected 'at least .*Allow a larger"
        ):
            run_experiment(small(**{"encryption.precision": 2.0**-40}), Listener())

    def test_a_basis_smaller_than_the_classes_is_refused(self):
        changes = {"distillation.basis": "student", "distillation.q": 1, "training.rounds": 1}
        changes["encryption.precision"] = 2.0**-10
        with pytest.raises(SecureFairError, match=r"^Cleveland, round 0: q: a basis of this size"):
            run_experiment(small(**changes), Listener())

    def test_training_that_diverges(self):
        changes = {"training.learning_rate": 1e300, "training.clip_norm": 1e300}
        with pytest.raises(SecureFairError, match=r"training diverged.*Lower the learning rate"):
            run_experiment(small(**changes), Listener())


class TestFiles:
    def test_all_are_written_and_read_back(self, outcome, tmp_path):
        write_outcome(outcome, tmp_path / "new" / "folder")
        written = tmp_path / "new" / "folder"
        assert sorted(path.name for path in written.iterdir()) == [
            "config.toml",
            "exchanges.jsonl",
            "ledger.json",
            "measured.json",
            "metrics.json",
            "models",
            "report.html",
            "rounds.jsonl",
            "traffic.json",
        ]
        assert read_result(written)[0] == outcome.result
        assert read_json_lines(written / "rounds.jsonl", RoundRecord) == outcome.rounds

    def test_the_written_configuration_repeats_the_run(self, outcome, tmp_path):
        write_outcome(outcome, tmp_path)
        again = run_experiment(load_config(tmp_path / "config.toml"), Listener())
        assert again.rounds == outcome.rounds

    def test_the_page_can_be_left_out(self, tmp_path):
        config = small(**{"report.html": False, "run.algorithms": ["standalone"]})
        write_outcome(run_experiment(config, Listener()), tmp_path)
        assert not (tmp_path / "report.html").exists()
        assert (tmp_path / "metrics.json").exists()

    def test_a_file_where_the_folder_should_be_is_an_error(self, outcome, tmp_path):
        (tmp_path / "taken").write_text("mine")
        with pytest.raises(OSError, match="taken"):
            write_outcome(outcome, tmp_path / "taken")
        assert (tmp_path / "taken").read_text() == "mine"


def test_versions_name_what_computes():
    found = versions()
    assert {"torch", "numpy", "tenseal"} <= set(found)
    assert all(found.values())


def test_monitoring_releases_cannot_train():
    with pytest.raises(ConfigError, match=r"distillation.release: loss only monitors"):
        run_experiment(small(**{"distillation.release": "loss"}), Listener())
