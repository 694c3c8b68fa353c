"""Attacks on transfer: what a student sees of one teacher, and what flows back to peers."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from securefair.averaging import Shares, release, share_message
from securefair.averaging.gathering import Gathering
from securefair.averaging.pairwise import generate_private, public_bytes
from securefair.averaging.recovery import taken_apart
from securefair.averaging.streams import crypt
from securefair.collaboration.host import Stored
from securefair.collaboration.transfer.answering import answering_of
from securefair.collaboration.transfer.exchange import TransferStudent, answer, masked, read_request
from securefair.collaboration.transfer.host import TransferHost
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import EncryptionError, LedgerError, RemoteProtocolError, SecureFairError
from securefair.model.transfer import own_fit
from securefair.protocol.jobs import AnswerAsk, Combine, ImportPeer, PrepareAsk, ReleaseKey
from securefair.protocol.messages import Keys
from security.colluding import Town
from support.agreements import agree
from support.coefficients import coefficients
from support.simulated import start_transfer

NAMES = ("a", "b", "c", "d")


def draw(seed, count):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 4))
    return Samples(x, (x @ [3, -2, 1, 0] + rng.logistic(size=count) > 0).astype(np.int64), 2)


HOSPITALS = [ParticipantData(name, draw(seed, 21), draw(seed + 9, 20))
             for seed, name in enumerate(NAMES)]  # fmt: skip


def agreed(**constants):
    settings = {"backend": "rns"} | constants
    return agree("transfer", NAMES, samples=21, seed=1, **settings)


class Teachers:
    """Three teachers of student a, with keys for masks, that answer whatever they are asked."""

    def __init__(self, agreement):
        self.agreement = agreement
        self.models = {
            one.name: own_fit(one.train, rng=np.random.default_rng(0)).model
            for one in HOSPITALS[1:]
        }
        self.private = {name: generate_private() for name in self.models}
        self.publics = {name: public_bytes(key) for name, key in self.private.items()}

    def answer(self, name, request, senders=("b", "c", "d"), attempt=0, round=0):
        gathering = Gathering(
            session=self.agreement.digest,
            round=round,
            attempt=attempt,
            receiver="a",
            senders=senders,
        )
        asked = read_request(request, "a")
        plan, data = answer(self.agreement, self.models[name], asked, backend="rns", device="cpu")
        hidden = masked(
            plan, data, self.private[name], self.publics, gathering, name, request, backend="rns"
        )
        return data, hidden


def assert_noise(student, answers, truth):
    """What opens has nothing to do with the truth: uniform modulo q, some 100 logits wide.

    Five numbers come as close as this by chance once in 10^6 times; most are refused at once.
    """
    try:
        opened = student.open_mean(answers) * len(answers)
    except EncryptionError:
        return
    assert np.abs(opened - truth).max() > 5


@pytest.fixture(scope="module")
def teachers():
    return Teachers(agreed())


@pytest.fixture(scope="module")
def student(teachers):
    return TransferStudent(teachers.agreement, HOSPITALS[0].train, backend="rns")


def test_the_sum_opens_and_a_single_answer_does_not(teachers, student):
    request = student.request()
    answers = {name: teachers.answer(name, request) for name in "bcd"}
    alone = {name: student.open(plain) for name, (plain, _) in answers.items()}  # unprotected
    mean = student.open_mean([hidden for _, hidden in answers.values()])
    np.testing.assert_allclose(
        mean, np.mean(list(alone.values()), axis=0), atol=teachers.agreement.plan.error_bound
    )
    for name, (_, hidden) in answers.items():
        assert_noise(student, [hidden], alone[name])


@pytest.mark.parametrize("kept", [("b", "c"), ("b",)])
def test_fewer_answers_than_senders_are_noise(teachers, student, kept):
    request = student.request()
    answers = [teachers.answer(name, request) for name in kept]
    truth = sum(student.open(plain) for plain, _ in answers)
    assert_noise(student, [hidden for _, hidden in answers], truth)


def test_asking_one_about_patients_and_others_about_nothing_opens_nothing(teachers, student):
    """Without masks bound to the request, a student would take one teacher out of the sum."""
    blank = Samples(np.zeros_like(HOSPITALS[0].train.features), HOSPITALS[0].train.labels, 2)
    other = TransferStudent(teachers.agreement, blank, backend="rns")
    other._keys = student._keys  # one secret key, two questions
    questions = {"b": student.request(), "c": other.request(), "d": other.request()}
    answers = [teachers.answer(name, question) for name, question in questions.items()]
    truth = sum(student.open(plain) for plain, _ in answers)
    assert_noise(student, [hidden for _, hidden in answers], truth)


def test_masks_of_two_attempts_have_nothing_in_common(teachers, student):
    request = student.request()
    first, second = (
        {name: teachers.answer(name, request, senders, attempt) for name in senders}
        for attempt, senders in enumerate([("b", "c", "d"), ("b", "c")])
    )
    answers = [first["b"], first["c"], second["b"], second["c"]]
    truth = sum(student.open(plain) for plain, _ in answers)
    assert_noise(student, [hidden for _, hidden in answers], truth)


def test_nothing_that_was_opened_reaches_an_answer():
    """Peers' data, and so all that is opened, change; the answering fits and answers do not."""
    flipped = [HOSPITALS[0]] + [
        replace(one, train=replace(one.train, labels=1 - one.train.labels)) for one in HOSPITALS[1:]
    ]
    runs = [
        start_transfer("transfer", data, agreed(), seed=0, backend="clear")
        for data in (HOSPITALS, flipped)
    ]
    for run in runs:
        list(run.rounds(1))
    first, second = (run.hosts["a"] for run in runs)
    assert not np.allclose(first.notes.released[""], second.notes.released[""])
    assert not np.allclose(
        coefficients(first.transferred.model), coefficients(second.transferred.model)
    )
    np.testing.assert_array_equal(first.own.model.linear, second.own.model.linear)
    before, after = (own._shares.of("b", 0) for own in (first, second))
    request = TransferStudent(agreed(), draw(5, 21), backend="clear").request()
    asked = read_request(request, "b")
    answers = [
        answer(agreed(), own.own.model, asked, backend="clear", device="cpu")[1]
        for own in (first, second)
    ]
    assert answers[0] == answers[1]
    assert before is not None
    assert after is not None


def test_a_repetition_of_the_sum_costs_a_sender_its_first_part():
    """A student that claims to have lost a sender never gets both sums."""
    participant = TransferHost(HOSPITALS[1], agreed(), seed=0)
    for peer in ("c", "d"):
        key = public_bytes(generate_private())
        participant.run(ImportPeer(peer, Keys(0, key, b""), None))
    request = TransferStudent(agreed(), HOSPITALS[0].train, backend="rns").request()
    participant.run(AnswerAsk("a", 0, 0, request, ("b", "c", "d")))
    participant.run(AnswerAsk("a", 0, 1, request, ("b", "c")))
    with pytest.raises(RemoteProtocolError, match="not under way"):
        participant.run(ReleaseKey("a", 0, 0, ("b", "c", "d")))
    participant.run(ReleaseKey("a", 0, 1, ("b", "c")))
    with pytest.raises(RemoteProtocolError, match="after one of this round was opened"):
        participant.run(AnswerAsk("a", 0, 2, request, ("b", "d")))


class ForgetfulTeachers(Teachers):
    """The rule as it was: two sums of one *round* are refused, and nothing else."""

    def __init__(self, agreement):
        super().__init__(agreement)
        self.shares = dict.fromkeys(self.models, Shares())

    def give(self, name, round, senders, request):
        gathering = Gathering.of(self.agreement.digest, round, "a", senders)

        def make():
            return self.answer(name, request, senders, round=round)[1]

        memory, closed = share_message(self.shares[name], gathering, name, request, make)
        self.shares[name], key = release(memory, gathering)
        return crypt(closed, key)


class OurTeachers:
    """Three participants with keys for masks, and their ledgers."""

    def __init__(self, agreement):
        self.people = {one.name: TransferHost(one, agreement, seed=0) for one in HOSPITALS[1:]}
        for one in self.people.values():
            for name, other in self.people.items():
                if other is not one:
                    keys = Keys(0, public_bytes(other._private), b"")
                    one.run(ImportPeer(name, keys, None))

    def give(self, name, round, senders, request):
        own = self.people[name]
        closed = own.run(AnswerAsk("a", round, 0, request, senders)).payload
        key = own.run(ReleaseKey("a", round, 0, senders)).key
        spare = own.machine.settings.sums.spare("a", senders)
        message, _ = taken_apart(name, closed, spare) if spare else (closed, None)
        return crypt(message, key)


def mean_times_senders(teachers, student, round, senders, request):
    answers = [teachers.give(name, round, senders, request) for name in senders]
    return student.open_mean(answers) * len(senders)


def test_one_teacher_is_not_taken_out_of_two_means_of_different_rounds(student):
    """Two rounds, the same question, one sender less: 5 numbers of d's model, the whole of it.

    As the rule was, the second sum cost nothing in any ledger: the question had been answered.
    """
    request = student.request()
    forgetful = ForgetfulTeachers(agreed())
    three = mean_times_senders(forgetful, student, 0, ("b", "c", "d"), request)
    two = mean_times_senders(forgetful, student, 1, ("b", "c"), request)
    alone = student.open(forgetful.answer("d", request)[0])
    assert np.abs(three - two - alone).max() < 0.1 * np.abs(alone).max()

    ours = OurTeachers(agreed())
    mean_times_senders(ours, student, 0, ("b", "c", "d"), request)
    for name in "bc":
        with pytest.raises(LedgerError, match="tell a of a single teacher"):
            ours.give(name, 1, ("b", "c"), request)
        assert ours.people[name].machine.ledger.accounts["a"].total == 5
    again = mean_times_senders(ours, student, 1, ("b", "c", "d"), request)
    bound = 2 * 3 * agreed().plan.error_bound  # of two sums of three
    np.testing.assert_allclose(again, three, atol=bound)  # what it had, and nothing else


def test_nor_by_a_key_that_is_asked_for_later(student):
    """Shares of two rounds over other senders: only one of them is ever opened."""
    request = student.request()
    own = OurTeachers(agreed()).people["b"]
    for round, senders in ((0, ("b", "c", "d")), (1, ("b", "c"))):
        own.run(AnswerAsk("a", round, 0, request, senders))
    own.run(ReleaseKey("a", 1, 0, ("b", "c")))
    with pytest.raises(LedgerError, match="tell a of a single teacher"):
        own.run(ReleaseKey("a", 0, 0, ("b", "c", "d")))


def test_nor_by_waiting_until_its_patients_change(student):
    """Sums before and after one teacher's renewal differ by what its new patients changed."""
    request, teachers = student.request(), OurTeachers(agreed())
    everyone = ("b", "c", "d")
    mean_times_senders(teachers, student, 0, everyone, request)
    renewed = teachers.people["d"]
    renewed.begin(0)
    renewed.run(AnswerAsk("b", 0, 0, request, ("c", "d")))
    renewed.renew(replace(HOSPITALS[3], train=draw(77, 20)))
    with pytest.raises(LedgerError, match="version 1"):
        teachers.give("d", 1, everyone, request)
    with pytest.raises(RemoteProtocolError, match="not under way"):  # of the fit that was
        renewed.run(ReleaseKey("b", 0, 0, ("c", "d")))


def refuse(*_):
    raise EncryptionError("an opened value is out of range")


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["mean", "each"])
@pytest.mark.parametrize("spoilt", [False, True])
def test_whether_answers_open_is_not_told_by_asking_again(opened, spoilt):
    """Whoever moves a number to the edge of the range would read on which side of it it was."""
    people = {one.name: TransferHost(one, agreed(opened=opened), seed=0) for one in HOSPITALS}
    if spoilt:  # as a number beyond the edge is
        for name in ("open", "open_sum"):
            setattr(people["a"]._exchange, name, refuse)
    town = Town(people)
    over = town.play(0)["a"]
    if opened == "mean":
        assert ("out of range" in (over.sum_error or "")) == spoilt
        assert bool(over.combined) != spoilt
    else:
        assert bool(over.failed) == bool(town.blamed) == spoilt
    town.play(1)
    assert ("a", 0) in town.asked
    assert ("a", 1) not in town.asked
    people["a"].renew(HOSPITALS[0])
    town.play(2)
    assert ("a", 2) in town.asked


def test_what_a_renewal_closed_is_closed_to_a_later_process():
    """Shares of the fit that was, and its version, by which a second mean is refused."""
    stored, agreement = Stored(), agreed()
    first = TransferHost(HOSPITALS[3], agreement, seed=0, stored=stored)
    pieces = {}

    def keep():
        for name, piece in first.changed().items():
            if piece is None:
                pieces.pop(name, None)
            else:
                pieces[name] = piece

    for name in "bc":
        first.run(ImportPeer(name, Keys(0, public_bytes(generate_private()), b""), None))
    first.begin(0)
    question = TransferStudent(agreement, HOSPITALS[0].train, backend="rns").request()
    first.run(AnswerAsk("a", 0, 0, question, ("b", "c", "d")))
    keep()
    first.renew(replace(HOSPITALS[3], train=draw(77, 20)))
    keep()
    later = Stored(pieces=pieces, keys=first.export_keys())
    changed = replace(HOSPITALS[3], train=draw(77, 20))
    second = TransferHost(changed, agreement, seed=0, stored=later)
    assert second.version == 1
    with pytest.raises(RemoteProtocolError, match="of a round that is over"):
        second.run(AnswerAsk("a", 0, 1, question, ("b", "d")))
    with pytest.raises(RemoteProtocolError, match="not under way"):
        second.run(ReleaseKey("a", 0, 0, ("b", "c", "d")))


@pytest.mark.parametrize("another", [False, True])
def test_a_fit_that_is_made_again_otherwise_is_another_version(another, monkeypatch):
    """A newer version may fit otherwise: two sums would tell by how much. A last digit tells
    nothing, and stops nobody."""
    everyone = ("b", "c", "d")
    first = TransferHost(HOSPITALS[3], agreed(), seed=0, stored=Stored())
    for name in "bc":
        first.run(ImportPeer(name, Keys(0, public_bytes(generate_private()), b""), None))
    first.begin(0)
    question = TransferStudent(agreed(), HOSPITALS[0].train, backend="rns").request()
    first.run(AnswerAsk("a", 0, 0, question, everyone))
    first.run(ReleaseKey("a", 0, 0, everyone))
    first.run(AnswerAsk("b", 0, 0, question, ("c", "d")))  # its key has not left
    made, change = answering_of, 1e-3 if another else 1e-9

    def otherwise(*about):
        found = made(*about)
        moved = replace(found.model, linear=found.model.linear * (1 + change))
        return replace(found, model=moved)

    monkeypatch.setattr("securefair.collaboration.transfer.participant.answering_of", otherwise)
    later = Stored(pieces=dict(first.changed()), keys=first.export_keys())
    second = TransferHost(HOSPITALS[3], agreed(), seed=0, stored=later)
    assert second.version == another
    if another:
        with pytest.raises(RemoteProtocolError, match="not under way"):  # of the fit that was
            second.run(ReleaseKey("b", 0, 0, ("c", "d")))
        second.begin(1)
        with pytest.raises(LedgerError, match="version 1"):
            second.run(AnswerAsk("c", 1, 0, question, ("b", "d")))
    else:
        assert second.run(ReleaseKey("b", 0, 0, ("c", "d"))).key


def test_whoever_has_opened_in_an_earlier_process_asks_no_more():
    """Nor whoever tried to, in vain."""
    first = TransferHost(HOSPITALS[0], agreed(), seed=0, stored=Stored())
    with pytest.raises(SecureFairError):
        first.run(Combine(0, 0, ("b", "c", "d"), dict.fromkeys("bcd", b""), {}))
    later = Stored(pieces=dict(first.changed()), keys=first.export_keys())
    second = TransferHost(HOSPITALS[0], agreed(), seed=0, stored=later)
    assert not second.run(PrepareAsk(1, 0, ("b", "c", "d"), summed=True)).payloads


@pytest.mark.parametrize("patients", [0, -1, -(2**63), 2**31])
def test_a_request_about_no_patients_blames_the_student(patients):
    request = msgspec.msgpack.encode((patients, b"", b"", b""))
    with pytest.raises(RemoteProtocolError) as caught:
        read_request(request, "mallory")
    assert caught.value.culprit == "mallory"


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x94\x01\x02\x03\x04"])
def test_junk_for_a_request_blames_the_student(junk):
    with pytest.raises(RemoteProtocolError) as caught:
        read_request(junk, "mallory")
    assert caught.value.culprit == "mallory"
