"""Private alignments over runs: what is the same alignment, and what is another one and charged."""

import numpy as np
import pytest

from securefair.collaboration.distillation.private_alignments import private_alignments
from securefair.collaboration.private import private_teachers, stated_guarantee
from securefair.config.privacy import PrivacySection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import LedgerError


def hospital(name, seed=0, n=60):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 4))
    samples = Samples(x, (x[:, 0] > 0).astype(np.int64), 2)
    return ParticipantData(name, samples, samples)


@pytest.fixture
def terms(tmp_path):
    return PrivacySection(epsilon=2.0, asked_epsilon=1.0, store=tmp_path / "store")


def formed(terms, *peers, temperature=5.0, seed=3):
    """What "north" thinks of each peer, all of whom answer alike; it alone keeps an account."""
    data = [hospital("north"), *(hospital(peer, seed=1) for peer in peers)]
    teachers = private_teachers(data, ["linear"] * len(data), terms, seed=seed)
    found = private_alignments(data, teachers, terms, temperature=temperature, seed=seed)
    answers = teachers[peers[0]].model.logits(data[0].train.features)
    return {peer: found["north"].alignment(peer, answers) for peer in peers}


def test_the_same_peers_are_charged_once_in_any_order(terms):
    first = formed(terms, "east", "west")
    assert formed(terms, "east", "west") == first
    assert formed(terms, "west", "east") == first


@pytest.mark.parametrize(
    ("peers", "temperature"), [(("south", "west"), 5.0), (("east", "west"), 2.0)]
)
def test_other_peers_and_another_temperature_are_other_alignments(terms, peers, temperature):
    """Each would be a fresh noisy mean of the same votes: paid for, or refused."""
    formed(terms, "east", "west")
    with pytest.raises(LedgerError, match="does not suffice"):
        formed(terms, *peers, temperature=temperature)


def test_alignments_by_another_private_model_are_other_alignments(terms):
    data = [hospital("north"), hospital("east", seed=1)]
    terms = terms.model_copy(update={"total_epsilon": 1.5, "total_delta": 2e-3})
    for at, epsilon in enumerate((2.0, 1.0)):
        simulated = terms.model_copy(
            update={"epsilon": epsilon, "store": None}
        )  # only their models differ
        teachers = private_teachers(data, ["linear"] * 2, simulated, seed=3)
        if at == 0:
            private_alignments(data, teachers, terms, temperature=5.0, seed=3)
            private_alignments(data, teachers, terms, temperature=5.0, seed=3)
            continue
        with pytest.raises(LedgerError, match="does not suffice"):
            private_alignments(data, teachers, terms, temperature=5.0, seed=3)


def test_fits_and_alignments_have_one_limit(terms):
    """One total bounds both: they are about the same patients."""
    terms = terms.model_copy(update={"total_epsilon": 2.5, "total_delta": 2e-3})
    with pytest.raises(LedgerError, match=r"epsilon 2\.99.*|epsilon 3"):
        formed(terms, "east")
    assert formed(terms.model_copy(update={"total_epsilon": 3.0}), "east")


def test_a_hello_states_fits_and_alignments_of_all_runs(terms):
    terms = terms.model_copy(update={"total_epsilon": 4.0, "total_delta": 4e-3})
    promised = []
    for peer in ("east", "west"):
        data = [hospital("north"), hospital(peer, seed=1)]
        teachers = private_teachers(data, ["linear"] * 2, terms, seed=3)
        alignments = private_alignments(data, teachers, terms, temperature=5.0, seed=3)
        promised.append(stated_guarantee(teachers["north"], alignments["north"]))
    assert promised[0].epsilon == pytest.approx(3.0, rel=0.01)
    assert promised[1].epsilon == pytest.approx(4.0, rel=0.01)
    assert promised[1].delta == pytest.approx(3e-3)
    # A later run without alignments: the earlier ones were about the same patients.
    later = private_teachers(data, ["linear"] * 2, terms, seed=3)["north"]
    assert stated_guarantee(later).epsilon == promised[1].epsilon
