"""`securefair budget`: what the runs on a store have cost the patients, and what that means."""

import json

import pytest

from securefair.privacy.durable import PrivacyAccount
from securefair.privacy.guarantees import PatientGuarantee, meaning_of
from securefair.storage import Guarantee, Store

LIMIT = Guarantee(epsilon=9.0, delta=1e-2)
FIT = PatientGuarantee(mechanism="objective perturbation", epsilon=1.0, delta=4e-4)
ALIGNMENT = PatientGuarantee(mechanism="Gaussian", epsilon=0.5, delta=1e-4)


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "clinic"
    with Store.open(folder) as opened:
        north = PrivacyAccount(opened, "north", LIMIT)
        for name, guarantee in (("first", FIT), ("second", FIT), ("asked", ALIGNMENT)):
            north.once(name, guarantee, lambda: b"model")
        PrivacyAccount(opened, "south", LIMIT).once("first", FIT, lambda: b"model")
    return folder


def test_it_shows_each_hospitals_figures_with_their_meaning(invoke, store):
    done = invoke("budget", store)
    assert done.exit_code == 0, done.output
    north, south = done.output.split("south:")
    assert "north: 2 private fits, 1 private alignment" in north
    assert "Behind its model: epsilon 2, delta 8.0e-04" in north
    assert "Asked about: epsilon 0.5, delta 1.0e-04" in north
    assert "Together, for a patient of both: epsilon 2.5, delta 9.0e-04" in north
    assert meaning_of(2.5, 9e-4) in north
    assert "Asked about" not in south
    assert meaning_of(1.0, 4e-4) in south


def test_what_a_recovery_does_not_know_counts_with_the_whole_limit(invoke, store):
    with Store.open(store) as opened, opened.transaction() as tx:
        for reference in (
            "recovered 7",
            "recovered 7",
            "recovered 9",
        ):  # told twice, it counts once
            tx.privacy.lose("north", reference, LIMIT)
    north, south = invoke("budget", store).output.split("south:")
    assert "2 private fits, 1 private alignment" in north
    assert "The limit counts 2 times more" in " ".join(north.split())
    assert "Behind its model: epsilon 20," in north
    assert "Asked about: epsilon 18.5," in north
    assert "Together, for a patient of both: epsilon 20.5," in north
    assert "Recovered" not in south
    with Store.open(store) as opened:  # a recovered site tells nobody: its own fits go on
        account = PrivacyAccount(opened, "north", LIMIT)
        assert account.once("third", FIT, lambda: b"model") == b"model"
        assert account.spent.epsilon == 21.5


def test_programs_read_it(invoke, store):
    found = json.loads(invoke("budget", store, "--json").output)
    assert found["north"]["behind_the_model"] == {"epsilon": 2.0, "delta": 8e-4}
    assert (found["south"]["fits"], found["south"]["alignments"]) == (1, 0)


def test_it_reads_while_a_run_has_the_store_open(invoke, store):
    with Store.open(store):
        assert invoke("budget", store).exit_code == 0


def test_a_store_without_private_fits_says_so(invoke, tmp_path):
    Store.open(tmp_path / "empty").close()
    assert "No private fit was charged" in invoke("budget", tmp_path / "empty").output


def test_what_is_no_store_is_one_line(invoke, tmp_path):
    done = invoke("budget", tmp_path / "nowhere")
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert not (tmp_path / "nowhere").exists()
