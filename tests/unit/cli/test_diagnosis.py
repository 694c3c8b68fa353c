import sys

import pytest

from securefair.ckks.backends import kernels
from securefair.cli import diagnosis as doctor
from securefair.cli.diagnosis import diagnose
from securefair.errors import BackendUnavailableError, EncryptionError
from securefair.exchange import trial


def named(diagnosis):
    return {one.name: one for one in diagnosis.findings}


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose()


def test_a_machine_that_runs_these_tests_is_healthy(diagnosis):
    assert diagnosis.healthy
    found = named(diagnosis)
    for name in ("Python", "torch", "numpy", "rns", "seal", "clear"):
        assert (found[name].status, found[name].required) == ("ok", True), name
    assert found["Native kernels"].status == ("ok" if kernels.available() else "missing")


def test_everything_that_is_missing_says_how_to_get_it(diagnosis):
    for one in diagnosis.findings:
        assert one.found
        assert one.status == "ok" or one.hint, one.name


def test_a_backend_that_computes_wrongly_is_broken(monkeypatch):
    """Every backend is tried; none is believed."""

    def wrong(name):
        if name == "seal":
            raise EncryptionError("an exchange opened to wrong numbers", found="0.5")
        return 0.0

    monkeypatch.setattr(trial, "exchange_error", wrong)
    diagnosis = diagnose()
    assert not diagnosis.healthy
    assert named(diagnosis)["seal"].status == "broken"
    assert "wrong numbers" in named(diagnosis)["seal"].found


def test_an_optional_backend_may_be_missing(monkeypatch):
    def absent(name):
        if name == "openfhe":
            raise BackendUnavailableError("not here", hint="make openfhe")
        return 0.0

    monkeypatch.setattr(trial, "exchange_error", absent)
    diagnosis = diagnose()
    assert diagnosis.healthy
    assert named(diagnosis)["openfhe"].status == "missing"
    assert named(diagnosis)["openfhe"].hint == "make openfhe"


def test_a_required_package_that_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    finding = doctor._package("msgspec")
    assert (finding.status, finding.required) == ("broken", True)


def test_requirements_without_extras_are_required():
    lines = ["torch<2.14,>=2.4", "scikit-learn>=1.4", 'pyarrow>=16; extra == "parquet"']
    assert doctor._required_packages(lines) == ["torch", "scikit-learn"]
