"""Sites that answer from private fits: paid for once, whatever happens to their processes."""

import random
import shutil

import numpy as np
import pytest

from securefair.collaboration.private import polynomial_of
from securefair.errors import ConfigError
from securefair.sites.project.terms import checked_terms
from support.operators import SETTINGS, ended, found, securefair, start

pytestmark = pytest.mark.slow  # whole runs

PRIVATE = "[privacy]\nepsilon = 2.0\nrequire_epsilon = 2.0\nrequire_delta = 0.01\n"


def paid(town, name):
    with town.stores[name].view() as tx:
        events = tx.privacy.events(name)
        fits = {key: tx.memory.get(key) for key in tx.memory.names("private/")}
    return events, fits


@pytest.mark.parametrize("algorithm", ["transfer", "vpdl", "cycle"])
def test_a_private_fit_is_paid_once_however_often_its_site_is_killed(make_town, algorithm):
    town = make_town(3, algorithm=algorithm, rounds=3, settings=PRIVATE)
    before = {name: paid(town, name) for name in town.names}
    rng = random.Random(4)
    for name in town.names:
        town.kills[name] = lambda: rng.choice(["before", "after"]) if rng.random() < 0.1 else ""
        town.kill(name)
    town.live()
    assert town.restarts > 10
    for name in town.names:
        events, fits = before[name]
        assert [event.guarantee.epsilon for event in events] == [2.0]
        assert len(fits) == 1
        assert paid(town, name) == before[name]
        first = town.records(name)[0]
        assert set(first.combined or first.opened) == set(town.names) - {name}


def test_what_a_lost_store_may_have_charged_counts_and_the_site_goes_on(swift_folder):
    """A store that is new knows of no fit; the site pays for one, and nobody is told of it."""
    wishes = ("--algorithm", "transfer")
    found(swift_folder, settings=SETTINGS + PRIVATE, wishes=wishes)
    site, secret = swift_folder / "north", swift_folder / "passphrase"
    sites = [start(swift_folder, name) for name in ("north", "south")]
    ended(sites, 60)
    told = securefair("budget", site / "store")
    assert "1 private fit," in told
    assert "Recovered" not in told
    shutil.rmtree(site / "store")
    securefair("site", "recover", site, "--passphrase-file", secret, types="y\n")
    told = " ".join(securefair("budget", site / "store").split())
    assert "0 private fits" in told
    assert "Recovered: nobody knows what was charged before. The limit counts once more." in told
    assert "Behind its model: epsilon 2," in told


def test_what_answers_is_the_private_fit(make_town):
    """Numbers that a student opens are those of the private function, and not of the own fit."""
    town = make_town(3, algorithm="transfer", settings=PRIVATE + '[transfer]\nopened = "each"\n')
    town.live()
    for name in town.names:
        host = town.hosts[name]
        assert host.teacher.secure
        private = polynomial_of(host.teacher, host.agreement.degree)
        assert np.array_equal(host.answering.linear, private.linear)
        assert not np.allclose(host.answering.linear, host.own.model.linear)


def test_a_site_whose_peers_promise_too_little_asks_nobody(make_town):
    strict = "[privacy]\nepsilon = 2.0\nrequire_epsilon = 1.0\nrequire_delta = 0.01\n"
    town = make_town(3, algorithm="transfer", settings=strict)
    town.live()
    assert all(town.records(name)[0].combined == () for name in town.names)


def test_alignments_are_paid_for_in_the_site_s_store(make_town):
    changes = {
        "distillation.release": "logits",
        "privacy.epsilon": 2.0,
        "privacy.delta": 0.001,
        "privacy.asked_epsilon": 1.0,
    }
    town = make_town(3, rounds=3, changes=changes)
    town.live()
    for name in town.names:
        events, _ = paid(town, name)
        assert sorted(event.mechanism for event in events) == ["Gaussian", "objective perturbation"]


def terms(**privacy):
    project = {
        "name": "heart",
        "algorithm": "transfer",
        "max_samples": 300,
        "features": 20,
        "classes": 2,
        "valid_from": 0,
        "valid_until": 1000,
        "protocol": 1,
    }
    return checked_terms({"project": project, "privacy": privacy}, source="test")


def test_a_project_says_what_patients_are_promised_but_not_where_budgets_are():
    assert terms(epsilon=2.0).config.privacy.epsilon == 2.0
    assert terms(epsilon=2.0).as_table()["privacy"]["epsilon"] == 2.0
    for key, value in (("store", "budgets"), ("total_epsilon", 4.0), ("total_delta", 1e-3)):
        with pytest.raises(ConfigError, match="its own store") as problem:
            terms(epsilon=2.0, **{key: value})
        assert key in problem.value.where


def test_a_kind_without_private_fits_is_refused_with_the_reason():
    table = terms(epsilon=2.0).as_table()
    table["project"]["algorithm"] = "cycle-gossip"
    with pytest.raises(ConfigError, match="no private fit stands behind"):
        checked_terms(table, source="test")
