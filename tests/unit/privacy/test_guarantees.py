"""What epsilon and delta promise, and what is no promise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError
from securefair.privacy.guarantees import (
    PatientGuarantee,
    PrivacyTarget,
    largest_true_positive_rate,
    meaning_of,
)

rates = st.floats(0, 1)


def guarantee(epsilon: float, delta: float = 0.0) -> PatientGuarantee:
    return PatientGuarantee(mechanism="DP-SGD", epsilon=epsilon, delta=delta)


@given(epsilon=st.floats(0, 20), delta=st.floats(0, 0.5), fpr=rates)
def test_a_bound_on_attacks_is_between_guessing_and_certainty(
    epsilon: float, delta: float, fpr: float
) -> None:
    bound = largest_true_positive_rate(epsilon, delta, fpr)
    assert fpr - 1e-12 <= bound <= 1


def test_no_epsilon_leaves_guessing() -> None:
    assert largest_true_positive_rate(0.0, 0.0, 0.3) == pytest.approx(0.3)


def test_bound_by_hand() -> None:
    # e^ln(3) * 0.1 + 0.01
    assert largest_true_positive_rate(math.log(3), 0.01, 0.1) == pytest.approx(0.31)
    # from above: 1 - (1 - 0.01 - 0.7) / 3
    assert largest_true_positive_rate(math.log(3), 0.01, 0.7) == pytest.approx(1 - 0.29 / 3)


def test_within_compares_both_figures() -> None:
    ours = guarantee(2.0, 1e-3)
    assert ours.within(2.0, 1e-3)
    assert not ours.within(1.9, 1e-3)
    assert not ours.within(3.0, 1e-4)


def test_the_sentence_says_the_figures() -> None:
    sentence = meaning_of(2.0, 1e-3)
    assert "7.39 times" in sentence
    assert "1.0\u00a0\u00d7\u00a010\u207b\u00b3" in sentence
    assert "7 in 100 who are" in sentence


def test_a_sentence_about_many_fits_has_no_largest_epsilon() -> None:
    assert "finds at most 100 in 100" in meaning_of(2000.0, 1.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", math.inf),
        ("epsilon", math.nan),
        ("epsilon", 65.0),
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", math.nan),
        ("unit", "row"),
        ("rows_per_patient", 0),
        ("row_norm", 0.0),
        ("row_norm", math.inf),
    ],
)
def test_targets_out_of_range(field: str, value: object) -> None:
    values: dict[str, object] = {"epsilon": 1.0, "delta": 1e-3, field: value}
    with pytest.raises(ConfigError) as error:
        PrivacyTarget(**values)  # type: ignore[arg-type]
    assert error.value.where == field


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_guarantees_out_of_range(epsilon: float) -> None:
    with pytest.raises(ConfigError, match="epsilon"):
        guarantee(epsilon)


@pytest.mark.parametrize("patients", [0, 99])
def test_delta_above_one_over_the_patients_is_refused(patients: int) -> None:
    with pytest.raises(ConfigError, match="1 / patients"):
        PrivacyTarget(epsilon=1.0, delta=1 / 98).check(patients)


def test_delta_of_one_over_the_patients_is_allowed() -> None:
    PrivacyTarget(epsilon=1.0, delta=1 / 100).check(100)
