"""Private teachers: their models, what they cost, and when they are refused."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.collaboration.private import (
    default_delta,
    private_teachers,
    stated_guarantee,
)
from securefair.config.privacy import PrivacySection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError, LedgerError, StorageError
from securefair.privacy import Patients, PrivacyTarget, SeededNoise, private_fit
from securefair.storage import Store

TERMS = PrivacySection(epsilon=2.0)


def hospital(name="north", n=60, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    labels = (x[:, 0] > 0).astype(np.int64) if classes == 2 else rng.integers(0, classes, n)
    samples = Samples(x, labels, classes)
    return ParticipantData(name, samples, samples)


def teacher(own=None, kind="linear", terms=TERMS, **options):
    own = hospital() if own is None else own
    return private_teachers([own], [kind], terms, seed=3, **options)[own.name]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_heads_answer_from_the_linear_function_that_was_fitted(kind, classes):
    own = hospital(classes=classes)
    found = teacher(own, kind)
    assert found.guarantee.mechanism == "objective perturbation"
    x = own.test.features
    z = found.model.logits(x)
    # Linear: no second difference; and never the same as without noise.
    np.testing.assert_allclose(z[0] + z[1], 2 * found.model.logits((x[:1] + x[1:2]) / 2)[0])
    assert z.shape == (60, classes)
    np.testing.assert_allclose(z.sum(axis=1), 0, atol=1e-9)
    other = teacher(own, "quadratic" if kind == "linear" else "linear").model.logits(x)
    np.testing.assert_allclose(z, other, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("quadratic", {"hidden": 1}), ("network", {"network": "digits-8"})],
)
def test_what_holds_no_linear_function_is_trained_by_dp_sgd(kind, options):
    own = hospital(d=64)
    found = teacher(own, kind, **options)
    assert found.guarantee.mechanism == "DP-SGD"
    assert np.isfinite(found.model.logits(own.test.features)).all()


def test_a_networks_inner_scales_are_not_those_of_the_patients():
    few, many = (
        teacher(hospital(d=64, n=n), "network", network="digits-8").model for n in (20, 60)
    )
    np.testing.assert_array_equal(few.calibration, many.calibration)


def test_equal_seeds_repeat_a_simulation():
    x = hospital().test.features
    np.testing.assert_array_equal(teacher().model.logits(x), teacher().model.logits(x))
    assert not teacher().secure


def test_more_budget_is_another_fit():
    x = hospital().test.features
    more = teacher(terms=PrivacySection(epsilon=4.0))
    assert not np.allclose(more.model.logits(x), teacher().model.logits(x))


def test_what_is_spent_is_what_the_fit_costs():
    found = teacher()
    assert found.spent.epsilon == found.limit.epsilon == found.guarantee.epsilon == 2.0
    assert found.spent.delta == found.guarantee.delta == 1e-3


@pytest.mark.parametrize(
    ("patients", "delta"),
    [(1, 0.1), (10, 1e-2), (40, 1e-3), (99, 1e-3), (101, 1e-4), (10**6, 1e-7)],
)
def test_default_delta_is_a_power_of_ten_below_a_tenth_of_one_over_the_patients(patients, delta):
    assert default_delta(patients) == pytest.approx(delta)
    assert default_delta(patients) <= 0.1 / patients * (1 + 1e-9)


def test_delta_above_one_over_the_patients_names_the_hospital():
    with pytest.raises(ConfigError, match=r"north, privacy\.delta"):
        teacher(terms=PrivacySection(epsilon=1.0, delta=0.02))


def test_the_delta_of_all_runs_is_at_most_one_over_the_patients_too(tmp_path):
    terms = PrivacySection(
        epsilon=1.0, store=tmp_path / "store", total_epsilon=2.0, total_delta=0.5
    )
    with pytest.raises(ConfigError, match=r"north, privacy\.total_delta") as error:
        teacher(terms=terms)
    assert "60 patients" in str(error.value)


def test_the_delta_of_fits_and_alignments_together_is_too():
    teacher(terms=PrivacySection(epsilon=1.0, delta=1 / 60))
    with pytest.raises(ConfigError, match=r"north, privacy\.delta"):
        teacher(terms=PrivacySection(epsilon=1.0, delta=1 / 60, asked_epsilon=1.0))


def test_rows_of_a_patient_count_once():
    own = hospital()
    owned = replace(own, train=replace(own.train, patients=np.arange(60) // 3))
    assert teacher(owned).guarantee.delta == default_delta(20)


def test_a_private_fit_is_a_drop_in_for_the_teachers_own():
    """The same numbers as the mechanism alone, in the form that penalised fits have."""
    own = hospital()
    fit = private_fit(
        own.train,
        Patients.of(own.train),
        PrivacyTarget(epsilon=2.0, delta=1e-3),
        SeededNoise(1),
    )
    assert fit.linear.shape == (1, 4)
    assert fit.constant.shape == (1,)


class TestStore:
    def test_a_later_run_answers_from_the_same_fit_without_another_charge(self, tmp_path):
        terms = TERMS.model_copy(update={"store": tmp_path / "store"})
        x = hospital().test.features
        first, second = teacher(terms=terms), teacher(terms=terms)
        np.testing.assert_array_equal(first.model.logits(x), second.model.logits(x))
        assert first.secure
        assert second.spent == first.spent
        assert second.spent.epsilon == 2.0

    def test_its_noise_is_not_that_of_the_seed(self, tmp_path):
        x = hospital().test.features
        one, two = (
            teacher(terms=TERMS.model_copy(update={"store": tmp_path / name})).model.logits(x)
            for name in ("a", "b")
        )
        assert not np.allclose(one, two)

    def test_new_data_after_the_budget_is_spent_is_refused(self, tmp_path):
        terms = TERMS.model_copy(update={"store": tmp_path / "store"})
        teacher(terms=terms)
        with pytest.raises(LedgerError, match="does not suffice"):
            teacher(hospital(seed=1), terms=terms)
        assert teacher(hospital("south", seed=1), terms=terms).spent.epsilon == 2.0

    def test_totals_allow_several_fits_and_no_more(self, tmp_path):
        terms = TERMS.model_copy(
            update={"store": tmp_path / "store", "total_epsilon": 4.0, "total_delta": 2e-3}
        )
        assert teacher(terms=terms).spent.epsilon == 2.0
        second = teacher(hospital(seed=1), terms=terms)
        assert second.spent.epsilon == 4.0
        # A student hears of everything that was told of these patients, not of the last fit.
        assert second.guarantee.epsilon == 2.0
        assert stated_guarantee(second).epsilon == 4.0
        assert stated_guarantee(second).delta == 2e-3
        with pytest.raises(LedgerError):
            teacher(hospital(seed=2), terms=terms)

    def test_a_store_that_is_open_elsewhere_is_refused(self, tmp_path):
        terms = TERMS.model_copy(update={"store": tmp_path / "store"})
        with Store.open(tmp_path / "store"), pytest.raises(StorageError):
            teacher(terms=terms)
