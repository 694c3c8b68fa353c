"""Exchanges of wide heads, whose features travel two in a ciphertext."""

import numpy as np
import pytest

from securefair.errors import EncryptionError
from securefair.exchange.student import Student
from securefair.storage import KeystoreCost
from support.parties import RELEASES, altered, run, spec_of

FEATURES = 33  # one shares its ciphertext with zeros


def wide(release):
    fewer = {"q": 2} if release == "student" else {}
    return spec_of(release, hidden=1, features=FEATURES, **fewer)


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("class_sums", "logits")))
        for name in RELEASES
        if name != "loss"  # the sum of class_sums, which narrow heads release too
    ],
)
def test_wide_heads_answer_as_in_the_clear(release, samples_in_slots):
    # Rings of 16384 take SEAL seconds, and it computes the same residues.
    backend = "seal" if release in ("public", "logits") else "rns"
    done, clear = run(wide(release), backend), run(wide(release), "clear")
    assert done.plan.schedule.packing == "pairs"
    error = np.abs(done.opened.released - clear.opened.released).max()
    assert 0 < error <= done.plan.error_bound * 1.125  # opened values are rounded


def test_seal_and_rns_understand_each_others_pairs(samples_in_slots):
    done, other = run(wide("logits")), run(wide("logits"), "rns")
    for asked, answering in ((done, other), (other, done)):
        opened = asked.student.open(
            answering.teacher.answer(asked.request), request=asked.request
        ).released
        error = np.abs(opened - asked.opened.released).max()
        assert error <= 2.25 * done.plan.error_bound


def test_a_student_of_pairs_goes_on_after_it_was_saved(tmp_path, samples_in_slots):
    done = run(wide("logits"))
    path = tmp_path / "student"
    done.student.save(path, "a passphrase", cost=KeystoreCost(log2_n=4))
    again = Student.load(path, "a passphrase")
    assert again.public_keys == done.student.public_keys
    assert (again.open(done.answer).released == done.opened.released).all()


def test_the_answer_to_pairs_needs_its_key(samples_in_slots):
    done = run(wide("public"))
    with pytest.raises(EncryptionError, match="conjugation key is missing"):
        done.teacher.answer(altered(done.asked, evaluation_keys=b""))
