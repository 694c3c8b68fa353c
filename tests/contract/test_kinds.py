"""Every kind of collaboration that is registered keeps the laws of `collaboration.interface`."""

import itertools

import numpy as np
import pytest
from pydantic import BaseModel

from contract.kinds import (
    MARGIN,
    SEED,
    begun,
    configured,
    everyone,
    finished,
    play,
    played,
    told_of,
)
from securefair.collaboration import PublicFacts
from securefair.collaboration.host import Stored
from securefair.collaboration.kinds import REGISTERED, kind_of
from securefair.collaboration.wording import CONTROL_WORDINGS
from securefair.config import kinds_keys, override
from securefair.errors import ConfigError, DataError
from securefair.model.stored import logits_of, to_bytes
from securefair.sites.simulation.starting import simulated
from securefair.storage import Store
from securefair.words import words_of
from securefair.worth import sharing
from securefair.worth.tuned import Tuned

FRAMES = 128
"""Bytes of a message besides what is foretold: its own fields, and the envelope's."""


@pytest.fixture(params=sorted(REGISTERED))
def name(request):
    return request.param


def test_it_is_registered_under_its_own_name_and_has_words(name):
    kind = kind_of(name)
    assert kind.name == name
    assert kind.wording.title
    assert kind.wording.rule


class Reading:
    """A configuration that notes which keys are asked for."""

    @property
    def __class__(self):
        return type(self._section)

    def __init__(self, section, seen, prefix=""):
        self._section, self._seen, self._prefix = section, seen, prefix

    def __getattr__(self, key):
        derived = getattr(type(self._section), key, None)
        if isinstance(derived, property):
            return derived.fget(self)
        value = getattr(self._section, key)
        if key == "agreed":  # everything, for a digest: whoever reads a key to use it names it
            return value
        if isinstance(value, BaseModel) and not self._prefix:
            return Reading(value, self._seen, f"{key}.")
        self._seen.add(self._prefix + key)
        return value


ELSEWHERE = {
    *("training.class_weight", "privacy.unit"),  # where data are read
    *("privacy.require_delta", "model.hidden"),  # only with the keys beside them
    "transfer.missing",  # only where means are opened
    *("encryption.backend", "encryption.device"),  # where something is encrypted: not in sums
}
PASSED_ON = {"privacy.asked_epsilon"}
"""With all terms of privacy, to kinds that have no use for it."""


def test_it_reads_the_keys_that_it_declares_and_no_other(name):
    kind, data, seen = kind_of(name), everyone(), set()
    given = {"encryption.backend": "clear"}
    if "privacy.epsilon" in kind.reads:
        given["privacy.epsilon"] = 2.0
    config = Reading(configured(name, **given), seen)
    agreement = kind.agree_all(config, data, seed=SEED)
    kind.forecast(agreement, data)
    if kind.exchanges is None:
        kind.rounds(config.training.rounds)
    run = simulated(kind, agreement, data, seed=SEED)
    for _ in run.rounds(2):
        pass
    kind.host(agreement, data[0], seed=SEED)
    kind.tell(config, told_of(name), words_of().about("hospitals"))
    governed = seen & kinds_keys()
    assert governed - PASSED_ON <= kind.reads
    assert kind.reads - governed <= ELSEWHERE


def test_its_controls_are_those_it_has_words_for_and_train_alone(name):
    kind, config = kind_of(name), configured(name)
    controls = kind.controls(config, everyone())
    assert list(controls) == list(CONTROL_WORDINGS)
    assert isinstance(controls["standalone"].algorithm, Tuned)  # never a fixed number of epochs
    for key, control in controls.items():
        state = control.algorithm.init(control.members, 0)
        _, record = control.algorithm.round(state, control.members)
        assert record.algorithm == key
        assert len(record.accuracy) == 3
        assert not any(map(any, record.answered))
        assert control.rounds == 1


def test_stopping_early_may_stop_before_the_first_epoch(name):
    kind = kind_of(name)
    stopped, other = (
        kind.controls(configured(name, **{"training.local_epochs": epochs}), everyone())[
            "early_stopping"
        ]
        for epochs in (2, 5)
    )
    longest = [one.algorithm.rounds for one in (stopped, other)]
    assert longest == [2 + 2 * 1, 5 + 2 * 1]  # one epoch at a time
    losses = [one.members.test_losses(one.members.trained_alone(0)) for one in (stopped, other)]
    assert losses[0] == losses[1]  # nobody has trained yet


def test_everyone_finds_the_same_agreement_from_what_everyone_knows(name):
    kind, config = kind_of(name), configured(name)
    facts = PublicFacts(participants=("North", "South", "East"), shape=(4,), classes=2, samples=16)
    one, same, other = (kind.agree(config, facts, seed=seed) for seed in (SEED, SEED, 6))
    assert (
        one.digest
        == same.digest
        == kind.agree(config, PublicFacts.of(everyone()), seed=SEED).digest
    )
    assert one.digest != other.digest
    assert len(one.digest) == 32
    assert one.participants == facts.participants
    assert one.limits == same.limits


def differences(one, other):
    """Of what participants think of one another; not of themselves."""
    apart = ~np.eye(len(one), dtype=bool)
    one, other = (np.array(each, dtype=float)[apart] for each in (one, other))
    nobody = np.isnan(one) & np.isnan(other)  # of whom nothing is thought
    return np.where(nobody, 0.0, one - other)


def nearest_decision(records):
    """How far the reputations after forced rounds are from what would change who asks or answers:
    from the coins of the next round, and cosines from 0."""
    names = [person.name for person in everyone()]
    return min(
        min(abs(before.alignment[k][n]), abs(before.reputation[k][n] - coin))
        for before, after in itertools.pairwise(records)
        if before.forced and not after.forced
        for k, teacher in enumerate(names)
        for n, student in enumerate(names)
        if k != n
        for coin in [sharing.coin(SEED, after.round, teacher, student)]
    )


def test_no_decision_of_a_reputation_is_a_close_one():
    _, records, _ = finished("cycle", "clear")
    assert nearest_decision(records) > MARGIN
    assert 0 < sum(map(sum, records[-1].answered)) < 3 * 2  # some answers, some declines


def test_encryption_changes_records_by_its_error_only(name):
    (_, clear, _), (_, encrypted, facts) = finished(name, "clear"), finished(name, "rns")
    assert len(clear) == len(encrypted) >= 1
    for a, b in zip(clear, encrypted, strict=True):
        assert (a.asked, a.answered, a.forced) == (b.asked, b.answered, b.forced)
        assert (np.abs(differences(a.reputation, b.reputation)) < MARGIN).all()
        assert b.cross_entropy == pytest.approx(a.cross_entropy, abs=0.02)
        assert b.accuracy == pytest.approx(a.accuracy, abs=1 / 8)
    assert facts.encryption.backend == ("rns" if facts.encryption.ring_degree else "masked")
    assert facts.encryption.security_bits >= 128
    assert facts.encryption.error_over_range < 2**-8


def test_a_run_goes_on_from_its_stores_as_if_nothing_had_been(name, tmp_path):
    _, whole, facts = finished(name, "clear")
    rounds = len(whole)
    for stop in range(1, rounds + 1):
        folder = tmp_path / str(stop)
        first, _ = begun(name, "clear", folder=folder)
        before = list(first.rounds(stop))
        first.close()
        later, _ = begun(name, "clear", folder=folder)
        later.go_on(first.seen, stop, first.exchanges)
        assert before + list(later.rounds(rounds)) == whole
        assert later.facts().ledger == facts.ledger
        assert later.facts().encryption == facts.encryption
        assert later.facts().traffic == facts.traffic
        assert later.facts().problems == facts.problems
        later.close()


@pytest.mark.slow
def test_a_run_goes_on_within_a_round(name, tmp_path):
    """Its process ended between two inputs of the second round, or of the only one."""
    _, whole, facts = finished(name, "clear")
    stop = len(whole) - 1
    for turns in (1, 2, 5, 8, 12):
        folder = tmp_path / str(turns)
        first, rounds = begun(name, "clear", folder=folder)
        before = list(first.rounds(stop))
        with pytest.raises(KeyboardInterrupt):
            interrupted(first, turns)
        first.close()
        later, _ = begun(name, "clear", folder=folder)
        if stop:
            later.go_on(first.seen, stop, first.exchanges)
        assert before + list(later.rounds(rounds)) == whole
        assert later.facts().ledger == facts.ledger
        assert later.facts().traffic == facts.traffic
        later.close()


def interrupted(run, turns):
    """One more round, but for so many deliveries."""
    deliver, left = run.town.courier.deliver_next, [turns]

    def stopping():
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return deliver()

    run.town.courier.deliver_next = stopping
    list(run.rounds(run.finished + 1))


def test_a_forecast_bounds_what_is_sent_and_let_out(name):
    kind, config, data = kind_of(name), configured(name), everyone()
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    forecast = kind.forecast(agreement, data)
    _, _, facts = finished(name, "rns")
    sent = sum(row.bytes for row in facts.traffic)
    frames = FRAMES * sum(row.count for row in facts.traffic)
    assert forecast.traffic.name == name
    assert forecast.traffic.least_bytes <= sent <= forecast.traffic.most_bytes + frames
    assert facts.ledger
    assert max(row.numbers_total for row in facts.ledger) <= forecast.numbers


def test_what_is_disclosed_is_counted_and_nothing_else(name):
    run, _, facts = finished(name, "rns")
    answered = {(one.student, one.teacher) for one in run.exchanges if one.answered}
    counted = {(row.student, row.teacher) for row in facts.ledger if row.answers}
    assert answered == counted
    for row in facts.ledger:
        assert row.algorithm == name
        assert row.numbers_total == row.answers * row.numbers_per_answer
    assert {row.algorithm for row in facts.traffic} == {name}


def test_a_limit_of_disclosure_holds(name):
    run, rounds = begun(name, "clear", **{"disclosure.student_total": 1})
    list(run.rounds(rounds))
    for row in run.facts().ledger:
        if row.release != "weighted_sum":  # which only the whole sum's receiver opens
            assert row.numbers_total <= 1


def refusal_of(kind, config):
    try:
        kind.check(config)
    except ConfigError as error:
        return str(error)
    return None


def test_privacy_is_kept_or_refused_and_never_passed_over(name):
    """Answers come from a private model, or the run does not begin."""
    config = configured(name, **{"privacy.epsilon": 2.0, "encryption.backend": "clear"})
    kind, data = kind_of(name), everyone()
    refused = refusal_of(kind, config)
    if refused is not None:
        assert "privacy" in refused
        return
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    run = simulated(kind, agreement, data, seed=SEED)
    list(run.rounds(kind.rounds(config.training.rounds)))
    promised = run.facts().privacy
    assert sorted(promised) == ["East", "North", "South"]
    assert all(0 < one.spent_epsilon <= one.epsilon == 2.0 for one in promised.values())


def test_one_participant_pays_for_its_private_model_once_in_its_own_store(name, tmp_path):
    config = configured(name, **{"privacy.epsilon": 2.0, "encryption.backend": "clear"})
    kind, data = kind_of(name), everyone()
    if refusal_of(kind, config) is not None:
        return
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    fits = []
    for seed in (5, 6):  # a site's seed is a secret; the noise is not drawn from it
        with Store.open(tmp_path / "store") as store:
            host = kind.host(agreement, data[0], seed=seed, stored=Stored(budget=store))
            with store.view() as tx:
                (event,) = tx.privacy.events(data[0].name)
        assert host.teacher.secure
        assert event.guarantee.epsilon == 2.0 == host.teacher.spent.epsilon
        fits.append([one.tolist() for one in host.teacher.model.parameters()])
    assert fits[0] == fits[1]


def test_everyone_keeps_a_model(name):
    run, _, _ = finished(name, "clear")
    models = run.models()
    assert list(models) == ["North", "South", "East"]
    for own in everyone():
        logits = models[own.name].logits(own.test.features)
        assert logits.shape[0] == 8
        assert np.isfinite(logits).all()


def test_hosts_are_what_a_run_is_made_of(name):
    run, _, _ = finished(name, "clear")
    for host in played(name):
        assert to_bytes(host.model()) == to_bytes(run.models()[host.name])
        assert host.changed() == {}  # it was not asked to remember anything
        assert host.machine.ledger.accounts


def test_a_host_comes_back_from_what_it_gave_out(name):
    kind, config, data = kind_of(name), configured(name), everyone()
    config = override(config, {"encryption.backend": "clear"}, source="test")
    for own, host in zip(data, played(name, stored=True), strict=True):
        pieces = {key: piece for key, piece in host.changed().items() if piece is not None}
        assert host.changed() == {}
        left = Stored(pieces=pieces, keys=host.export_keys(), memory=host.machine.memory)
        agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
        again = kind.host(agreement, own, seed=SEED, stored=left)
        assert to_bytes(again.model()) == to_bytes(host.model())
        assert again.machine.ledger == host.machine.ledger
        assert again.machine.memory == host.machine.memory
        last = kind.rounds(config.training.rounds) - 1
        assert again.received(last) == host.received(last)
        assert again.measured(last) == host.measured(last)
        assert again.export_keys() == left.keys


def test_estimates_follow_from_what_is_stored(name):
    kind, config, data = kind_of(name), configured(name), everyone()
    config = override(config, {"encryption.backend": "clear"}, source="test")
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    for own, host in zip(data[:1], played(name, stored=True), strict=False):
        pieces = {key: piece for key, piece in host.changed().items() if piece is not None}
        found = kind.recalled(agreement, own, seed=SEED).estimates(pieces)
        if found is None:
            assert host.estimates() is None
            return
        again = host.estimates()
        np.testing.assert_array_equal(found.together, again.together)
        assert np.abs(found.together - found.alone).max() > 0


def test_a_refit_takes_one_peer_out_or_says_why_it_cannot(name):
    kind, config, data = kind_of(name), configured(name), everyone()
    config = override(
        config, {"encryption.backend": "clear", "transfer.opened": "each"}, source="test"
    )
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    hosts = [kind.host(agreement, own, seed=SEED, stored=Stored()) for own in data]
    play(hosts, agreement, kind.rounds(config.training.rounds))
    host, own = hosts[0], data[0]
    pieces = {key: piece for key, piece in host.changed().items() if piece is not None}

    def refit(without):
        return kind.recalled(agreement, own, seed=SEED).refitted(pieces, without)

    if name in ("validation", "table-one", "cycle-gossip"):  # nobody's word is, or sums are
        with pytest.raises(ConfigError, match="nobody can be taken out"):
            refit("South")
        return
    without_south, x = refit("South"), own.test.features
    assert not np.allclose(logits_of(without_south, x), logits_of(host.model(), x))
    assert not np.allclose(logits_of(without_south, x), logits_of(refit("East"), x))
    with pytest.raises(DataError):
        refit("Nobody")
