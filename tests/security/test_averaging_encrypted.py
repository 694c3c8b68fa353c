"""Sums with encrypted weights: what a receiver could read out of its senders' ciphertexts.

Adversaries: a curious receiver, which holds the secret key, all messages, and the randomness of
its own requests; with it curious senders, which tell it the masks that they share. Protected: each
sender's parameters but for the sum, by masks that cancel and by sanitising; the weights, from the
senders. Still disclosed: the sum, as everywhere. A malicious receiver is not covered: it may
encrypt any weights it likes, and no sender can tell.
"""

import numpy as np
import pytest

from securefair.averaging import Gathering, Shares, SumSpec, make_share
from securefair.averaging.ckks import CkksSums, _by_prime, _masked
from securefair.averaging.pairwise import PUBLIC_BYTES, pair_masks
from securefair.ckks import rules
from securefair.ckks.backends import get_backend, wire
from securefair.ckks.backends.arrivals import expanded
from securefair.ckks.encoding import to_integers
from securefair.ckks.evaluator import Released
from securefair.ckks.tensor import CipherTensor
from securefair.errors import PlanError

SESSION = bytes(range(32))
NAMES = ("a", "b", "c")
PARAMETERS = 2 * 4096
SUMS = CkksSums("rns")


class Sum:
    """A receiver r that gives each of three senders its weight."""

    def __init__(self, weights):
        spec = SumSpec(parameters=PARAMETERS, senders=3, bound=4.0)
        self.plan = SUMS.plan(spec)
        self.n = self.plan.params.ring_degree
        self.keys = {name: SUMS.generate_keys(self.plan) for name in (*NAMES, "r")}
        self.publics = {name: keys.public for name, keys in self.keys.items()}
        self.gathering = Gathering.of(SESSION, 0, "r", NAMES)
        self.requests = SUMS.ask(self.plan, self.keys["r"], self.gathering, weights)

    def message(self, sender, vector, gathering=None):
        return SUMS.message(
            self.plan,
            self.keys[sender],
            self.publics,
            gathering or self.gathering,
            sender,
            self.requests[sender],
            vector,
        )

    def parts(self, message):
        """Residues by piece and prime, as (values, prime)."""
        words = np.frombuffer(message, "<u4").astype(np.uint64)
        return [
            part
            for piece in self.plan.pieces()
            for part in _by_prime(self.plan, piece, words[piece.place])
        ]

    def masks(self, sender, gathering=None):
        exchange_keys = {name: public[-PUBLIC_BYTES:] for name, public in self.publics.items()}
        return pair_masks(
            self.keys[sender].private,
            exchange_keys,
            gathering or self.gathering,
            sender,
            self.plan.digest,
        )

    def evaluator_and_weight(self, sender):
        return SUMS._load(self.plan, self.publics, self.gathering, self.requests[sender])

    def integers(self, evaluator, tensor):
        """All coefficients of a ciphertext, decrypted, in integer units: the receiver's view."""
        everything = np.arange(self.n)
        released = evaluator.extract(tensor, everything)
        opened = self.keys["r"].encryption.decryptor.open(
            Released(tensor.meta, everything, released.data)
        )
        return np.rint(opened * 2.0**tensor.meta.log2_scale)


@pytest.fixture(scope="module")
def summed():
    return Sum({"a": 0.5, "b": 0.2, "c": 0.0})


def vector_of(seed):
    return np.clip(np.random.default_rng(seed).normal(0, 0.1, PARAMETERS), -4, 4)


# -- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sender", NAMES)
@pytest.mark.parametrize("kind", ["zeros", "constant", "network"])
def test_a_message_alone_looks_random(summed, uniform, sender, kind):
    vector = {
        "zeros": np.zeros(PARAMETERS),
        "constant": np.full(PARAMETERS, 4.0),
        "network": vector_of(1),
    }[kind]
    for part, prime in summed.parts(summed.message(sender, vector)):
        assert uniform(part, prime)


def test_a_message_does_not_correlate_with_the_parameters(summed):
    vector = vector_of(2)
    words = np.frombuffer(summed.message("b", vector), "<u4").astype(np.float64)
    for part in (words[:PARAMETERS], words[PARAMETERS:]):
        assert abs(np.corrcoef(part, vector)[0, 1]) < 6.5 / np.sqrt(PARAMETERS)


def test_messages_without_one_sender_look_random_together(summed, uniform):
    parts = {name: summed.parts(summed.message(name, vector_of(3))) for name in NAMES}
    for left_out in NAMES:
        some = [parts[name] for name in NAMES if name != left_out]
        for (one, prime), (other, _) in zip(*some, strict=True):
            assert uniform((one + other) % np.uint64(prime), prime)


def test_asking_twice_gets_the_same_bytes_though_sanitising_is_random(summed):
    arguments = (
        SUMS,
        summed.plan,
        summed.keys["a"],
        summed.publics,
        summed.gathering,
        "a",
        summed.requests["a"],
    )
    memory, first = make_share(Shares(), *arguments, vector_of(1))
    assert make_share(memory, *arguments, vector_of(2))[1] == first
    assert make_share(Shares(), *arguments, vector_of(1))[1] != first


@pytest.mark.parametrize(
    "change",
    [{"round": 1}, {"receiver": "s"}, {"attempt": 1}, {"session": bytes(32)}, {"senders": "ab"}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_about_a_sum_changes_every_mask(summed, uniform, change):
    facts = {"session": SESSION, "round": 0, "attempt": 0, "receiver": "r", "senders": NAMES}
    other = Gathering(**facts | change | {"senders": tuple(change.get("senders", NAMES))})
    for piece in summed.plan.pieces():
        nothing = np.zeros(piece.words, dtype=np.uint32)
        one = _masked(summed.plan, piece, nothing, summed.masks("a")).astype(np.int64)
        two = _masked(summed.plan, piece, nothing, summed.masks("a", other)).astype(np.int64)
        assert (one == two).mean() < 0.001
        prime = summed.plan.params.primes[0]
        assert summed.plan.answer.limbs == 1
        assert uniform((one - two) % prime, prime)


def test_all_words_of_a_share_have_masks_of_their_own(summed):
    """Lanes of the stream differ between pieces, polynomials and limbs."""
    plan = SUMS.plan(SumSpec(parameters=65 * 4096 + 7, senders=3, precision=2.0**-22))
    assert plan.answer.limbs == 2
    masks = summed.masks("a")
    words = np.concatenate(
        [
            _masked(plan, piece, np.zeros(piece.words, dtype=np.uint32), masks)
            for piece in plan.pieces()
        ]
    )
    # A repeated stream would repeat most values; chance repeats a few of a billion.
    assert len(np.unique(words)) > 0.99 * len(words) * (1 - len(words) / 2**31)


# -- sanitising ----------------------------------------------------------------------------------


def product(summed, evaluator, weight, vector):
    polynomials = to_integers(vector.reshape(2, -1), summed.plan.log2_factor, summed.n)
    return evaluator.outer_plain(weight, summed.plan.factors(2), polynomials), polynomials


def divided_masks(summed, evaluator, weight, tensor):
    """Parameters as quotients of second polynomials, modulo the first prime: plain division."""
    prime = summed.plan.params.primes[0]
    known = expanded(weight.payload)[0, 1, 0].astype(object)
    seen = tensor.payload[:, 1, 0].astype(object)
    inverse = np.array([pow(int(a), -1, prime) for a in known], dtype=object)
    quotient = (seen * inverse % prime).astype(np.uint64)
    primes = np.array(summed.plan.params.primes, dtype=np.uint64)[:, None]  # the first is largest
    residues = evaluator._context.from_ntt(quotient[:, None] % primes)[:, 0]
    signed = residues.astype(np.int64)
    return np.where(signed > prime // 2, signed - prime, signed)


def test_the_attack_masks_of_an_unsanitised_product_give_all_parameters(summed):
    """Even with weight 0, so that the sum itself says nothing of c."""
    vector = vector_of(4)
    evaluator, weight = summed.evaluator_and_weight("c")
    bare, polynomials = product(summed, evaluator, weight, vector)
    reference = get_backend("seal").evaluator(
        summed.plan.params, summed.keys["r"].encryption.public
    )
    stolen = divided_masks(summed, reference, weight, bare)
    assert (stolen == polynomials).all()


def test_a_sanitised_product_gives_none_of_them(summed, uniform):
    vector = vector_of(4)
    evaluator, weight = summed.evaluator_and_weight("c")
    bare, polynomials = product(summed, evaluator, weight, vector)
    reference = get_backend("seal").evaluator(
        summed.plan.params, summed.keys["r"].encryption.public
    )
    sanitised = evaluator.sanitize(bare, summed.plan.spec.flooding_bits)
    guess = divided_masks(summed, reference, weight, sanitised)
    prime = summed.plan.params.primes[0]
    assert uniform(guess % prime, prime)
    assert abs(np.corrcoef(guess.ravel(), polynomials.ravel())[0, 1]) < 6.5 / np.sqrt(guess.size)


def by_values(polynomial):
    """Values of real polynomials at the odd roots of unity."""
    n = polynomial.shape[-1]
    twist = np.exp(1j * np.pi * np.arange(n) / n)
    return np.fft.ifft(polynomial * twist, axis=-1) * n


def deconvolved(seen, error):
    """p from e p, e known: division at the roots where e is not too small."""
    n = seen.shape[-1]
    at_roots = by_values(error)
    strong = np.abs(at_roots) > 0.3 * np.sqrt(np.mean(np.abs(at_roots) ** 2))
    quotient = np.where(strong, by_values(seen) / at_roots, 0)
    return (np.fft.fft(quotient, axis=-1) * np.exp(-1j * np.pi * np.arange(n) / n)).real / n


@pytest.mark.parametrize("flooded", [False, True])
def test_noise_tells_the_parameters_unless_it_is_flooded(summed, flooded):
    """The receiver knows the error e of its own E(0), and decrypts e times the parameters."""
    vector = vector_of(5)
    evaluator, weight = summed.evaluator_and_weight("c")
    bare, polynomials = product(summed, evaluator, weight, vector)
    error = summed.integers(evaluator, weight)
    assert 0 < np.abs(error).max() < 40
    if flooded:
        answer = evaluator.sanitize(bare, summed.plan.spec.flooding_bits)
    else:  # re-randomised, and flooded with a single bit
        answer = CipherTensor(bare.meta, evaluator._sanitize(bare, 0))
    guess = deconvolved(summed.integers(evaluator, answer), error)
    correlation = np.corrcoef(guess.ravel(), polynomials.ravel())[0, 1]
    if flooded:
        assert abs(correlation) < 6.5 / np.sqrt(guess.size)
    else:
        assert correlation > 0.9


def test_nobody_makes_a_share_of_a_sum_with_less_flooding_than_every_answer_has():
    few = SUMS.plan(SumSpec(parameters=PARAMETERS, senders=3, bound=4.0, flooding_bits=29))
    keys = SUMS.generate_keys(few)
    with pytest.raises(PlanError, match="flooding_bits"):
        SUMS.message(
            few, keys, {}, Gathering.of(SESSION, 0, "r", NAMES), "a", b"", np.zeros(PARAMETERS)
        )


def test_flooding_has_the_planned_amplitude(summed, uniform):
    evaluator, weight = summed.evaluator_and_weight("c")
    bare, _ = product(summed, evaluator, weight, vector_of(6))
    flood = 2.0 ** rules.flooding(bare.meta, summed.plan.spec.flooding_bits)
    answer = evaluator.sanitize(bare, summed.plan.spec.flooding_bits)
    noise = summed.integers(evaluator, answer)  # weight 0: nothing else is in it
    inside = np.clip(noise, -flood, flood - 1)
    assert np.abs(noise - inside).max() < flood * 2.0**-30
    assert uniform(inside, 2 * flood, -flood)


def test_opened_sums_lie_on_the_grid(summed):
    """Nothing finer than the planned precision flows into what the receiver sends later."""
    messages = {name: summed.message(name, vector_of(7)) for name in NAMES}
    total = SUMS.total(summed.plan, summed.keys["r"], summed.gathering, messages)
    steps = np.rint(total / summed.plan.grid)
    assert (total == steps * summed.plan.grid).all()
    assert len(np.unique(steps)) > 100


# -- collusion -----------------------------------------------------------------------------------


def peeled(summed, victim, message, colluders):
    """A message without the masks that colluders share with its sender."""
    words = np.frombuffer(message, "<u4")
    pieces = [
        _masked(
            summed.plan,
            piece,
            words[piece.place],
            [mask for name in colluders for mask in summed.masks(name) if mask.peer == victim],
        )
        for piece in summed.plan.pieces()
    ]
    return np.concatenate(pieces)


def test_a_receiver_and_all_other_senders_together_learn_a_model(summed):
    """Stated, not prevented: without masks it is an answer of one sender, and decrypts."""
    vector = vector_of(8)
    bare = peeled(summed, "b", summed.message("b", vector), ("a", "c"))
    opened = [
        summed.keys["r"]
        .encryption.decryptor.open(
            Released(
                rules.with_count(summed.plan.summed, piece.count),
                np.arange(piece.coefficients),
                bare[piece.place].tobytes(),
            )
        )
        .ravel()
        for piece in summed.plan.pieces()
    ]
    assert np.abs(np.concatenate(opened) - 0.2 * vector).max() <= summed.plan.error_bound


def test_one_honest_sender_more_hides_it_behind_its_own(summed, uniform):
    bare = peeled(summed, "b", summed.message("b", vector_of(9)), ("a",))
    for part, prime in summed.parts(bare.tobytes()):
        assert uniform(part, prime)


# -- weights -------------------------------------------------------------------------------------


def test_requests_look_random_whatever_the_weight(uniform):
    requests = [Sum({"a": w, "b": 0.0, "c": 0.0}) for w in (0.0, 1.0)]
    seeds = set()
    for one in requests:
        first, (seed,) = wire.read_upload(one.requests["a"], one.plan.weight)
        seeds.add(seed)
        for limb, prime in enumerate(one.plan.params.primes):
            assert uniform(first[0, limb], prime)
    assert len(seeds) == 2
    assert len({len(one.requests["a"]) for one in requests}) == 1


def test_requests_of_one_receiver_share_no_randomness(summed, uniform):
    again = SUMS.ask(summed.plan, summed.keys["r"], summed.gathering, dict.fromkeys(NAMES, 0.25))
    requests = [*summed.requests.values(), *again.values()]
    parsed = [wire.read_upload(request, summed.plan.weight) for request in requests]
    assert len({seed for _, (seed,) in parsed}) == len(requests)
    prime = summed.plan.params.primes[0]
    difference = parsed[0][0][0, 0].astype(np.int64) - parsed[3][0][0, 0]
    assert uniform(difference % prime, prime)


def test_a_malicious_receiver_can_pack_two_models_into_one_sum():
    """Stated, not prevented: encrypted weights are not bounded, as open ones are.

    A sum has room for more digits than small parameters need. With one weight 2^11 times the other
    its upper digits are one model and its lower digits the other.
    """
    attack = Sum(dict.fromkeys(NAMES, 0.25))
    weights = {"a": 2.0**7, "b": 2.0**-4, "c": 0.0}
    encryptor = attack.keys["r"].encryption.encryptor
    attack.requests = {
        name: encryptor.encrypt(np.full((1, attack.plan.params.slots), weight), attack.plan.weight)
        for name, weight in weights.items()
    }
    vectors = {name: vector_of(seed) * 0.1 for seed, name in enumerate(NAMES)}
    messages = [np.frombuffer(attack.message(name, vectors[name]), "<u4") for name in NAMES]
    seen = np.empty(PARAMETERS)
    for piece in attack.plan.pieces():
        words = sum(message[piece.place].astype(np.uint64) for message in messages)
        for part, prime in _by_prime(attack.plan, piece, words):
            part %= np.uint64(prime)
        meta = rules.with_count(attack.plan.summed, piece.count)
        data = words.astype("<u4").tobytes()
        released = Released(meta, np.arange(piece.coefficients), data)
        seen[piece.parameters] = attack.keys["r"].encryption.decryptor.open(released).ravel()
    step = weights["a"] * 2.0**-attack.plan.log2_factor
    upper = np.rint(seen / step) * step
    stolen = {"a": upper / weights["a"], "b": (seen - upper) / weights["b"]}
    for name, model in stolen.items():
        error = np.linalg.norm(model - vectors[name]) / np.linalg.norm(vectors[name])
        assert error < 0.01, name
