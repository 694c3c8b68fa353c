"""Processes of CrypTen: what a missing installation and a dying party look like."""

import subprocess
import sys

import numpy as np
import pytest

from securefair.averaging import crypten as module
from securefair.averaging import get_averaging
from securefair.averaging.crypten_parties import CryptenParties
from securefair.errors import BackendUnavailableError


def test_without_crypten_the_hint_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(BackendUnavailableError, match="--no-deps crypten"):
        get_averaging("crypten")


def test_a_party_that_cannot_start_is_reported_with_its_last_words(monkeypatch):
    """Every party's interpreter fails at once."""
    real = subprocess.Popen

    def failing(command, **options):
        return real([sys.executable, "-c", "raise SystemExit('no party today')"], **options)

    monkeypatch.setattr("securefair.averaging.crypten_parties.subprocess.Popen", failing)
    parties = CryptenParties()
    big = np.zeros(1 << 18, dtype=np.uint64).tobytes()  # more than a pipe holds
    for _ in range(2):  # and the next sum starts new processes
        with pytest.raises(BackendUnavailableError, match="ended") as error:
            parties.sum([big, big])
        assert "no party today" in str(error.value.found)


def test_an_unknown_averaging_names_those_that_exist():
    with pytest.raises(BackendUnavailableError, match="masked, ckks, crypten, clear"):
        get_averaging("homeopathic")
