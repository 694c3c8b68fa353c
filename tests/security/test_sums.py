"""What hospitals that add up what their fits know tell of a hospital, and of its patients.

Attacked: sums of `securefair.model.transfer.sums`. `bench/sums.py` has these attacks at more sizes.
"""

from itertools import combinations, product

import numpy as np
import pytest

from securefair.averaging import Gathering
from securefair.averaging.pairwise import generate_private, public_bytes
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import OtherSumError, RemoteProtocolError
from securefair.model.transfer import own_fit
from securefair.model.transfer.alone import PENALTIES
from securefair.model.transfer.sums import interface, sum_of
from securefair.model.transfer.sums.register import REGISTERED
from securefair.protocol.jobs import AnswerAsk, ReleaseKey
from support.agreements import agree
from support.simulated import start_transfer

EVERY = pytest.mark.parametrize("name", REGISTERED)
FEATURES = 12


def records(seed, count):
    """Findings of yes and no, some of them rare, and a label that follows from the first."""
    rng = np.random.default_rng(seed)
    x = (rng.uniform(size=(count, FEATURES)) < np.linspace(0.5, 0.2, FEATURES)).astype(float)
    return Samples(x, (rng.uniform(size=count) < 0.3 + 0.4 * x[:, 0]).astype(np.int64), 2)


def opened(name, samples):
    fits = [own_fit(one, rng=np.random.default_rng(0)) for one in samples]
    mean = np.mean([sum_of(name).told(one) for one in fits], axis=0)
    return sum_of(name).opened(mean, len(fits), FEATURES)


def told_apart(name, patients, hospitals):
    """Of listed records those that are of patients, as whoever knows one patient tells.

    All differences of a hospital's records lie in the span of its curvature; others do not.
    """
    inside = [records(seed, patients) for seed in range(hospitals)]
    values, vectors = np.linalg.eigh(opened(name, inside).curvature)
    free = vectors[:, values < 1e-6 * values.max()]
    listed = np.concatenate([inside[0].features, records(99, 200).features])
    fits = np.linalg.norm((listed - inside[0].features[0]) @ free, axis=1) < 1e-2
    return fits[:patients].mean(), fits[patients:].mean()


@pytest.fixture
def unveiled(monkeypatch):
    """For attacks by whoever has found out what hides whole numbers: nothing here rests on it."""
    monkeypatch.setattr(interface, "veiled", lambda curvature, _: curvature)


def test_a_curvature_of_fewer_patients_than_features_tells_their_records(unveiled):
    found, wrong = told_apart("curvature", 6, 1)
    assert found == 1
    assert wrong < 0.1


def test_it_does_not_where_patients_are_more_than_features(unveiled):
    """What a hospital looks at before it adds: as many patients as that in every sum."""
    hospitals = sum_of("curvature").fewest
    patients = sum_of("curvature").fewest_patients(FEATURES, hospitals)
    assert patients * hospitals >= 2 * FEATURES
    found, wrong = told_apart("curvature", patients, hospitals)
    assert found == wrong == 1  # everybody is in the span: it tells nobody apart


def test_diagonals_tell_nobody_apart_whatever_the_numbers(unveiled):
    found, wrong = told_apart("gradient", 6, 1)
    # Columns in which nobody has a finding are 0 in a sum as well, and tell that.
    assert found == 1
    empty = (records(0, 6).features == 0).all(axis=0)
    clear = (records(99, 200).features[:, empty] == 0).all(axis=1).mean() if empty.any() else 1
    assert wrong == pytest.approx(clear)


def hospitals(count, patients=30):
    return [
        ParticipantData(f"h{at}", records(at, patients), records(at + 50, 10))
        for at in range(count)
    ]


def agreed(count, name, **settings):
    names = [f"h{at}" for at in range(count)]
    return agree("transfer", names, shape=FEATURES, samples=30, sums=name, **settings)


@EVERY
def test_all_others_together_know_what_one_added_and_fewer_do_not(name):
    """Every student's sum is over all others. So those of n students hold one unknown sum."""
    run = start_transfer(
        "transfer", hospitals(5), agreed(5, name, missing=0), seed=0, backend="clear"
    )
    list(run.rounds(1))
    names = list(run.hosts)
    told = {one: sum_of(name).told(run.hosts[one].own) for one in names}
    sums = {one: 4 * run.hosts[one].notes.released[""] for one in names}
    assert run.hosts["h0"].agreement.enough_together == 4
    for together in combinations(names, 4):
        (victim,) = set(names) - set(together)
        known = sums[together[0]] - sum(told[one] for one in together[1:])
        np.testing.assert_allclose(known, told[victim], atol=1e-3)
    for together in combinations(names, 3):
        rows = [[float(one != student) for one in names] for student in together]
        rows += [[float(one == own) for one in names] for own in together]
        rank = np.linalg.matrix_rank(rows)
        for victim in set(names) - set(together):
            unit = [float(one == victim) for one in names]
            assert np.linalg.matrix_rank([*rows, unit]) == rank + 1


class Teacher:
    """One hospital that a dishonest student asks by hand."""

    def __init__(self, name, count=5, **settings):
        self.agreed = agreed(count, name, **settings)
        run = start_transfer("transfer", hospitals(count), self.agreed, seed=0, backend="clear")
        self.host, self.names = run.hosts["h1"], list(run.hosts)
        for other in self.names:
            if other != "h1":
                self.host._publics[other] = public_bytes(generate_private())

    def share(self, student, senders, attempt=0, request=None):
        question = self.agreed.question.digest if request is None else request
        job = AnswerAsk(student, 0, attempt, question, tuple(senders))
        return self.host.run(job).payload

    def key(self, student, senders, attempt=0):
        return self.host.run(ReleaseKey(student, 0, attempt, tuple(senders))).key


@EVERY
def test_no_two_sums_differ_by_one_hospital(name):
    """Present for one student and away for another, in a renewal, or in a smaller sum."""
    teacher = Teacher(name, missing=1)
    senders = ["h1", "h2", "h3", "h4"]
    teacher.share("h0", senders)
    teacher.key("h0", senders)
    with pytest.raises(OtherSumError):  # without h2: the difference would be h2's
        teacher.share("h4", ["h0", "h1", "h3"])
    teacher.host.version += 1  # its patients changed
    with pytest.raises(OtherSumError):
        teacher.share("h3", ["h0", "h1", "h2", "h4"])


@EVERY
def test_a_student_chooses_no_weights(name):
    """A weight of one for a single hospital would open what that one added."""
    teacher = Teacher(name)
    senders = ["h1", "h2", "h3", "h4"]
    for chosen in (b"", np.array([1.0]).astype("<f8").tobytes()):
        with pytest.raises(RemoteProtocolError, match="another sum"):
            teacher.share("h0", senders, request=chosen)


@EVERY
def test_a_part_of_a_sum_is_noise(name):
    teacher = Teacher(name)
    question, own = teacher.agreed.question, teacher.host.own
    senders = ("h1", "h2", "h3", "h4")
    publics = {one: public_bytes(generate_private()) for one in senders}
    from securefair.collaboration.transfer.questions import MaskKeys

    keys = MaskKeys("h1", teacher.host._private, publics)
    exchange = question.exchange(teacher.host.data.train)
    shares = [
        exchange.share(question.digest, one, keys, own, own.model)
        for one in (
            Gathering(session=b"s" * 32, round=at, receiver="h0", senders=senders)
            for at in range(16)
        )
    ]  # by chance none of some 600 words is in an eighth: once in 10^33 runs
    words = np.frombuffer(b"".join(shares), question.plan.fixed.word)
    top = words >> (8 * question.plan.fixed.word_bytes - 3)
    assert len(np.unique(top)) == 8  # every eighth of the range, though numbers are small


def parted(summed, shares, penalties):
    """Either fit of a sum over two, and how likely penalties are, as one curious student reckons.

    Of every feature the sum tells b1 + b2, H1 + H2 and (H1 + p1) b1 + (H2 + p2) b2. What a
    hospital's H is follows roughly from its share of all patients. Normal priors do the rest.
    """
    both, slope, diagonal = summed
    h = np.outer(shares, diagonal) + 1e-9
    weigh = h + np.array(penalties)[:, None]
    spread = (0.3 * h**2 + h) / weigh**2
    a, b, c = ((spread * weigh**power).sum(axis=0) + 1e-9 for power in range(3))
    c = c + 0.15**2 * (h**2 * spread).sum(axis=0)
    x, y = (c * both - b * slope) / (a * c - b**2), (a * slope - b * both) / (a * c - b**2)
    likely = -0.5 * (both * x + slope * y + np.log(a * c - b**2)).sum()
    return spread * (x + weigh * y), likely


@pytest.mark.slow
def test_a_sum_over_two_hospitals_of_different_size_tells_roughly_either_fit():
    """So of three hospitals a curious one knows more than a mean, as the threat model says."""
    sizes, errors = (200, 30), []
    for seed in range(4):
        fits = [
            own_fit(records(10 * seed + at, size), rng=np.random.default_rng(0))
            for at, size in enumerate(sizes)
        ]
        told = sum(sum_of("gradient").told(one) for one in fits)[1:-1].reshape(3, FEATURES)
        truth = np.array([one.model.linear[0] for one in fits])
        found = [
            parted(told, np.array(sizes) / sum(sizes), pair)
            for pair in product(PENALTIES, repeat=2)
        ]
        weights = np.exp([likely - max(one for _, one in found) for _, likely in found])
        guess = sum(w * fit for w, (fit, _) in zip(weights, found, strict=True)) / weights.sum()
        errors.append(
            [np.linalg.norm(said - truth, axis=1) for said in (guess, np.array([told[0] / 2] * 2))]
        )
    guessed, halved = np.median(errors, axis=0)
    assert (guessed < 0.7 * halved).all(), (guessed, halved)
