"""How many hospitals of a transfer must work together to find one teacher's fit.

What a student opens is the sum of its teachers' answers, from fits that never change. Hospitals
that work together know what each of them opened, and their own fits. They know one more fit where
its unit vector lies in the span of all that. Here sets are everybody's, or the student's choice;
whatever else they may ask for is in `test_collusion.py`.
"""

import dataclasses
from itertools import combinations

import numpy as np
import pytest

from securefair.averaging import Gathering
from securefair.averaging.pairwise import public_bytes
from securefair.averaging.streams import crypt
from securefair.collaboration.transfer.exchange import TransferStudent, answer, masked, read_request
from securefair.collaboration.transfer.host import TransferHost
from securefair.data.dataset import ParticipantData, Samples
from securefair.model.transfer.peers import asked_peers
from securefair.protocol.jobs import AnswerAsk, ReleaseKey
from securefair.protocol.messages import Answer, Ask, Key, Keys, Reveal
from security.colluding import Honest, Town, question
from support.agreements import agree


def know_another(names, asked, together):
    """Whether these hospitals can compute the fit of one that is not among them."""
    rows = [[float(name in asked[student]) for name in names] for student in together]
    rows += [[float(name == own) for name in names] for own in together]
    known = np.array(rows)
    rank = np.linalg.matrix_rank(known)
    units = (np.eye(len(names))[at] for at, name in enumerate(names) if name not in together)
    return any(np.linalg.matrix_rank(np.vstack([known, unit])) == rank for unit in units)


def named(hospitals):
    return [f"h{at}" for at in range(hospitals)]


@pytest.mark.parametrize(
    ("hospitals", "peers"), [(4, 8), (9, 8), (10, 8), (11, 4), (12, 3), (7, 2)]
)
def test_nobody_finds_a_fit_but_all_others_of_its_group(hospitals, peers):
    names = named(hospitals)
    asked = asked_peers(names, peers, 3)
    smallest = min(map(len, asked.values()))
    assert smallest >= min(peers, hospitals - 1)
    for fewer in range(1, smallest):
        assert not any(know_another(names, asked, group) for group in combinations(names, fewer))
    assert any(know_another(names, asked, group) for group in combinations(names, smallest))


@pytest.mark.parametrize("hospitals", [10, 12])
def test_on_a_ring_three_find_the_fit_of_a_fourth(hospitals):
    """As it was: eight neighbours each, in sets that overlap."""
    names = named(hospitals)
    near = [step for step in range(-4, 5) if step]
    asked = {
        name: {names[(at + step) % hospitals] for step in near} for at, name in enumerate(names)
    }
    assert any(know_another(names, asked, group) for group in combinations(names, 3))
    assert not any(know_another(names, asked, group) for group in combinations(names, 2))


NINE = named(9)
STUDENT, TEACHER, *OTHERS = NINE


def patients(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (21, 4))
    return Samples(x, (x @ [3, -2, 1, 0] + rng.logistic(size=21) > 0).astype(np.int64), 2)


class Nine:
    """Nine hospitals, encrypted: one as student and one as teacher work together."""

    def __init__(self, **changes):
        self.agreement = agree("transfer", NINE, samples=21, seed=1, backend="rns")
        people = {
            name: TransferHost(
                ParticipantData(name, patients(at), patients(at + 50)),
                self.agreement, seed=0,
            )
            for at, name in enumerate(NINE)
        }  # fmt: skip
        self.publics = {name: public_bytes(own._private) for name, own in people.items()}
        self.accomplice = people[TEACHER]
        self.student = TransferStudent(self.agreement, patients(0), backend="rns")
        self.request = self.student.request()
        self.honest = {name: Honest(people[name], self.publics) for name in OTHERS}
        for one in self.honest.values():
            settings = one.machine.settings
            sums = dataclasses.replace(settings.sums, **changes)
            one.machine.settings = dataclasses.replace(settings, sums=sums)
            one.begin(0)

    def share_of(self, name, senders):
        """What an honest teacher gives the student for a sum over these, and its key."""
        own = self.honest[name]
        closed = own.tell(STUDENT, Ask(0, 0, self.request, 0, senders))
        keys = own.tell(STUDENT, Reveal(0, 0))
        if not closed or not keys:
            return None
        (share,), (key,) = closed, keys
        assert isinstance(share, Answer)
        assert isinstance(key, Key)
        return crypt(share.payload, key.key)

    def accomplice_share(self, senders):
        """As many as the student likes."""
        gathering = Gathering.of(self.agreement.digest, 0, STUDENT, senders)
        plan, data = self.plain(self.accomplice)
        return data, masked(
            plan, data, self.accomplice._private, self.publics, gathering, TEACHER, self.request,
            backend="rns",
        )  # fmt: skip

    def plain(self, own):
        asked = read_request(self.request, STUDENT)
        return answer(self.agreement, own.answering, asked, backend="rns", device="cpu")

    def alone(self, name):
        """What the student makes of one teacher, in sums over it and the accomplice."""
        senders = tuple(sorted((TEACHER, name)))
        share = self.share_of(name, senders)
        if share is None:
            return None
        plain, hidden = self.accomplice_share(senders)
        both = self.student.open_mean([share, hidden]) * 2
        return both - self.student.open(plain)


def test_where_a_student_names_the_senders_one_teacher_helps_it_to_all_other_fits():
    """The rule as it was, in one round: seven fits of nine hospitals, and nobody is blamed."""
    nine = Nine(missing=None)
    worst = largest = 0.0
    for name in OTHERS:
        found, own = nine.alone(name), nine.honest[name]
        truth = nine.student.open(nine.plain(own.host)[1])
        worst = max(worst, np.abs(found - truth).max())
        largest = max(largest, np.abs(truth).max())
        assert not own.blamed
    assert worst < 0.1 * largest


def test_now_no_teacher_gives_a_share_of_less_than_all_but_one():
    nine = Nine()
    assert [nine.alone(name) for name in OTHERS] == [None] * 7
    for own in nine.honest.values():
        assert "other senders than agreed" in own.blamed[0]
        assert not own.host.machine.ledger.accounts
    for senders in (tuple(NINE[1:8]), tuple(NINE[2:])):  # all but one, each teacher asked once
        name = senders[-1]
        assert nine.share_of(name, senders) is not None
    assert nine.share_of(NINE[3], tuple(NINE[3:])) is None


def town(names, change=lambda *arrived: arrived[2]):
    agreement = agree("transfer", names, samples=21, seed=1, backend="clear")
    return Town(
        {
            name: TransferHost(
                ParticipantData(name, patients(at), patients(at + 50)),
                agreement, seed=0,
            )
            for at, name in enumerate(names)
        },
        change,
    )  # fmt: skip


@pytest.fixture
def hollow(monkeypatch):
    """Answers whose numbers nobody looks at."""
    module = "securefair.collaboration.transfer.questions.encrypted."
    monkeypatch.setattr(module + "answer", lambda *_, **__: (None, b"an answer"))
    monkeypatch.setattr(module + "masked", lambda *_, **__: b"masked")
    monkeypatch.setattr(TransferHost, "_combine", lambda *_: None)


def test_a_student_that_leaves_one_out_first_does_not_shut_the_others_out(hollow):
    """As it was all others asked for all, and never heard which mean they may have."""
    nine, first, without = town(NINE), NINE[0], NINE[3]
    senders = tuple(name for name in NINE if name not in (first, without))
    for name in senders:
        own = nine.people[name]
        own.run(AnswerAsk(first, 0, 0, question(), senders))
        own.run(ReleaseKey(first, 0, 0, senders))
    over = nine.play(1)
    for student in NINE[1:]:
        assert set(over[student].combined) == set(NINE) - {student, without}
    assert not nine.blamed


def test_who_sends_some_a_bad_key_loses_its_own_place_and_nobody_elses(hollow):
    names, liar, victims = named(6), "h1", ("h2", "h3")

    def spoil(sender, recipient, message):
        if isinstance(message, Keys) and sender == liar and recipient in victims:
            return Keys(message.key_epoch, bytes(len(message.public_key)), b"")
        return message

    over = town(names, spoil).play(0)
    for student in set(names) - {liar}:
        assert set(over[student].combined) == set(names) - {student, liar}
    assert over[liar].combined == ()
    assert set(over["h0"].lost) == {liar}
