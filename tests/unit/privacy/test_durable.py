"""The budget over runs: charged before a mechanism runs, once a fit, and never exceeded."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import LedgerError, StorageError
from securefair.privacy.durable import PrivacyAccount, composed, reference_of
from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
from securefair.privacy.patients import Patients
from securefair.storage import Guarantee, PrivacyEvent, Store
from support.processes import run

pytestmark = pytest.mark.slow

LIMIT = Guarantee(epsilon=2.0, delta=1e-3)
ONE = PatientGuarantee(mechanism="objective perturbation", epsilon=1.0, delta=4e-4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_fit_is_charged_once_and_answers_in_later_runs(folder: Path) -> None:
    runs = []
    for _ in range(3):
        with Store.open(folder) as store:
            account = PrivacyAccount(store, "north", LIMIT)
            assert account.once("fit", ONE, lambda: runs.append(1) or b"model") == b"model"
            assert account.spent == Guarantee(epsilon=1.0, delta=4e-4)
    assert runs == [1]


def test_a_spent_budget_refuses_before_the_mechanism_runs(folder: Path) -> None:
    with Store.open(folder) as store:
        account = PrivacyAccount(store, "north", LIMIT)
        account.once("first", ONE, lambda: b"1")
        account.once("second", ONE, lambda: b"2")
        with pytest.raises(LedgerError, match="epsilon 3,"):
            account.once("third", ONE, lambda: pytest.fail("it ran"))
        assert account.spent == Guarantee(epsilon=2.0, delta=8e-4)
        # What was paid for still answers, and another hospital's patients have their own budget.
        assert account.once("first", ONE, lambda: b"") == b"1"
        assert PrivacyAccount(store, "south", LIMIT).once("third", ONE, lambda: b"3") == b"3"


def test_delta_has_a_limit_too(folder: Path) -> None:
    cheap = PatientGuarantee(mechanism="Gaussian", epsilon=0.1, delta=6e-4)
    with Store.open(folder) as store:
        account = PrivacyAccount(store, "north", LIMIT)
        account.once("first", cheap, lambda: b"")
        with pytest.raises(LedgerError, match=r"delta 0\.0012"):
            account.once("second", cheap, lambda: b"")


def test_a_failed_mechanism_stays_charged_and_may_be_repeated(folder: Path) -> None:
    def fail() -> bytes:
        raise RuntimeError("no memory")

    with Store.open(folder) as store:
        account = PrivacyAccount(store, "north", LIMIT)
        with pytest.raises(RuntimeError):
            account.once("fit", ONE, fail)
        assert account.spent.epsilon == 1.0
        assert account.once("fit", ONE, lambda: b"model") == b"model"
        assert account.spent.epsilon == 1.0


KILLED = """
import os, sys
from pathlib import Path
from securefair.privacy.durable import PrivacyAccount
from securefair.privacy.guarantees import PatientGuarantee
from securefair.storage import Guarantee, Store

one = PatientGuarantee(mechanism="objective perturbation", epsilon=1.0, delta=4e-4)
store = Store.open(Path(sys.argv[1]))
account = PrivacyAccount(store, "north", Guarantee(epsilon=2.0, delta=1e-3))
account.once("fit", one, lambda: os.kill(os.getpid(), 9))
"""


def test_a_process_killed_between_charge_and_answer_overspends_nothing(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    for _ in range(3):
        done = run(str(tmp_path / "killed.py"), [folder], cwd=tmp_path)
        assert done.returncode == -9
        with Store.open(folder) as store:
            assert PrivacyAccount(store, "north", LIMIT).spent.epsilon == 1.0
    with Store.open(folder) as store:
        account = PrivacyAccount(store, "north", LIMIT)
        assert account.once("fit", ONE, lambda: b"model") == b"model"
        assert account.spent.epsilon == 1.0


@pytest.mark.skipif(os.name != "posix", reason="stores lock by flock")
def test_two_runs_at_once_on_one_store_are_refused(folder: Path) -> None:
    with Store.open(folder), pytest.raises(StorageError, match="open"):
        Store.open(folder)


def gaussian(reference: str, noise: float, epsilon: float) -> PrivacyEvent:
    return PrivacyEvent(
        reference=reference,
        mechanism="DP-SGD",
        guarantee=Guarantee(epsilon=epsilon, delta=1e-4),
        details={"noise_multiplier": noise, "rate": 1.0, "steps": 1},
    )


def test_gaussians_compose_by_the_accountant_and_fits_add_up() -> None:
    from securefair.privacy.accounting import SampledGaussian, spent

    epsilon = spent((SampledGaussian(noise_multiplier=4.0),), 1e-4)
    events = [gaussian("a", 4.0, epsilon), gaussian("b", 4.0, epsilon)]
    fit = PrivacyEvent(
        reference="c",
        mechanism="objective perturbation",
        guarantee=Guarantee(epsilon=0.5, delta=1e-3),
    )
    together = composed(events)
    assert together.delta == 1e-4
    assert epsilon < together.epsilon < 1.5 * epsilon
    both = composed([*events, fit])
    assert both.epsilon == pytest.approx(together.epsilon + 0.5)
    assert both.delta == pytest.approx(1.1e-3)
    assert composed([]) == Guarantee(epsilon=0.0, delta=0.0)
    assert composed([fit]) == fit.guarantee


def test_references_tell_data_patients_targets_and_models_apart() -> None:
    target = PrivacyTarget(epsilon=1.0, delta=1e-3)
    samples = Samples(np.zeros((3, 2)), np.zeros(3, dtype=np.int64), 2)
    base = (samples, Patients.one_row_each(3), target, "linear")
    others = [
        (Samples(np.ones((3, 2)), samples.labels, 2), *base[1:]),
        (Samples(samples.features, samples.labels, 3), *base[1:]),
        (samples, Patients.named(["a", "a", "b"]), *base[2:]),
        (samples, base[1], PrivacyTarget(epsilon=1.5, delta=1e-3), "linear"),
        (*base[:3], "quadratic"),
    ]
    references = {reference_of(*one) for one in [base, *others]}
    assert len(references) == 6
    assert reference_of(*base) == reference_of(*base)
