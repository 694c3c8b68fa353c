"""One exchange from samples to logits, in bytes: right numbers, planned sizes, clear refusals."""

import math
from dataclasses import dataclass
from functools import cache

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.circuit.planner import ExchangePlan
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.backends import BACKENDS
from securefair.data.dataset import Samples
from securefair.errors import (
    BackendUnavailableError,
    DataError,
    EncryptionError,
    LedgerError,
    ModelError,
    PlanError,
    SecureFairError,
)
from securefair.exchange import steps
from securefair.exchange.request import REQUEST_FORMAT, Request
from securefair.exchange.student import Opened, Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head
from securefair.model.projection import public_rows, student_basis
from securefair.model.quantize import quantize

RELEASES = {
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
    "public": {"release": "projection", "q": 8},
    "student": {"release": "projection", "basis": "student", "q": 8},
    "logits": {"release": "logits"},
}
SEED = b"a public seed"
FEATURES, CLASSES, SAMPLES = 4, 2, 60


def spec_of(release, hidden=0, **changes):
    facts = {"features": FEATURES, "classes": CLASSES, "samples": SAMPLES, "hidden": hidden}
    return ExchangeSpec(**{**facts, **RELEASES[release], **changes})


def samples_of(spec, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (spec.samples, spec.features)) * spec.bounds.feature
    return Samples(features, np.arange(spec.samples) % spec.classes, spec.classes)


def predictions_of(spec, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(spec.classes), spec.samples)


def head_of(spec, seed=3):
    kind = "quadratic" if spec.hidden else "linear"
    return build_head(kind, spec.features, spec.hidden, spec.classes, seed)


@dataclass(frozen=True, repr=False)
class Run:
    """Everything that one exchange produced."""

    plan: ExchangePlan
    student: Student
    teacher: Teacher
    samples: Samples
    request: bytes
    answer: bytes
    opened: Opened

    @property
    def asked(self):
        return msgspec.msgpack.decode(self.request, type=Request)

    @property
    def logits(self):
        """What the teacher's model says on the samples, with its weights as rounded."""
        return steps.compile_model(self.plan, self.teacher.model).logits(self.samples.features)

    @property
    def exact(self):
        """The released numbers without any encryption."""
        spec, z = self.plan.spec, self.logits
        if spec.sends_predictions:
            sums = (predictions_of(spec) * z).sum(axis=0)
            return sums.sum() if spec.release == "loss" else sums
        if spec.release == "logits":
            return z
        if spec.student_basis:
            return student_basis(self.samples, spec.q) @ z
        basis = steps.public_basis(self.plan, SEED)
        n = self.plan.params.ring_degree
        rows = public_rows(n, basis.coefficients, spec.samples, basis.signs.astype(float))
        return rows @ z


@cache
def run(spec, backend="seal"):
    samples = samples_of(spec)
    predictions = predictions_of(spec) if spec.sends_predictions else None
    try:
        student = Student(spec, backend=backend, seed=SEED, max_openings=None)
        teacher = Teacher(head_of(spec), backend=backend, max_numbers=math.inf)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    request = student.request(samples, predictions=predictions)
    answer = teacher.answer(request)
    opened = student.open(answer)
    return Run(student.plan, student, teacher, samples, request, answer, opened)


@pytest.fixture(scope="module")
def linear():
    """The cheapest exchange there is."""
    return run(spec_of("public"))


def altered(asked, **changes):
    return msgspec.msgpack.encode(msgspec.structs.replace(asked, **changes))


# -- numbers -------------------------------------------------------------------------------------

ENCRYPTED = sorted(set(BACKENDS) - {"clear"})
CASES = [
    pytest.param(release, hidden, backend, id=f"{release}-{hidden}-{backend}")
    for release in RELEASES
    for hidden in (0, 4)
    for backend in ("clear", *ENCRYPTED)
    # Rings of 16384: the slow engines would take seconds, and compute the same residues.
    if backend in ("clear", "rns") or not hidden or release in ("public", "logits")
]


@pytest.mark.parametrize(("release", "hidden", "backend"), CASES)
def test_released_numbers_are_as_exact_as_planned(release, hidden, backend):
    done = run(spec_of(release, hidden), backend)
    assert done.opened.released.shape == np.shape(done.exact)
    error = np.abs(done.opened.released - done.exact).max()
    assert error <= (done.plan.error_bound if backend != "clear" else 1e-9)


@pytest.mark.parametrize("release", ["public", "student"])
@pytest.mark.parametrize("hidden", [0, 4])
def test_logits_are_reconstructed_as_from_exact_numbers(release, hidden):
    backend = "rns" if (release, hidden) == ("student", 4) else "seal"
    spec = spec_of(release, hidden)
    encrypted, clear = run(spec, backend), run(spec, "clear")
    assert encrypted.opened.logits.shape == (SAMPLES, CLASSES)
    assert 0 < encrypted.opened.unexplained < 0.9
    assert encrypted.opened.unexplained == pytest.approx(clear.opened.unexplained)
    distance = np.abs(encrypted.opened.logits - clear.opened.logits).max()
    gain = encrypted.student._reconstruction.error_gain
    assert distance <= gain * encrypted.plan.error_bound
    # And they are worth something: nearer to the truth than its mean is.
    missed = encrypted.opened.logits - encrypted.logits
    spread = encrypted.logits - encrypted.logits.mean(axis=0)
    assert (missed**2).sum() < 0.9 * (spread**2).sum()


def test_released_logits_are_known_for_certain():
    opened = run(spec_of("logits")).opened
    assert (opened.logits == opened.released).all()
    assert opened.unexplained == 0.0


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_sums_tell_no_logits_and_are_divided_by_the_temperature(release):
    done = run(spec_of(release))
    assert done.opened.logits is None
    assert done.opened.unexplained is None
    warm = done.student.open(done.answer, temperature=5.0)
    np.testing.assert_allclose(warm.released, done.opened.released / 5.0)


def test_the_loss_is_the_sum_of_the_class_sums():
    loss, sums = run(spec_of("loss")), run(spec_of("class_sums"))
    bound = loss.plan.error_bound + CLASSES * sums.plan.error_bound
    assert loss.opened.released == pytest.approx(sums.opened.released.sum(), abs=bound)


@pytest.mark.parametrize("release", RELEASES)
def test_several_blocks_are_joined_under_their_signs(release):
    samples = 2 * 2048 + 700 if release in ("public", "logits") else 4096 + 700
    backend = "seal" if release in ("public", "logits") else "rns"
    done = run(spec_of(release, samples=samples, features=2), backend)
    assert done.plan.blocks >= 2
    if release == "public":
        assert -1 in steps.public_basis(done.plan, SEED).signs
    assert np.abs(done.opened.released - done.exact).max() <= done.plan.error_bound


@pytest.mark.parametrize("backend", ["clear", "seal"])
def test_all_coefficients_of_the_public_basis_are_the_logits(backend):
    """Beyond what any plan grants: half of all coefficients say everything."""
    spec = spec_of("logits")
    student = Student(spec, backend=backend, seed=SEED, max_openings=None)
    teacher = Teacher(head_of(spec), backend=backend, max_numbers=math.inf)
    plan, samples = student.plan, samples_of(spec)
    features, _ = student.encrypt_features(samples)
    upload = teacher.receive(spec, SEED, student.public_keys, features, b"")
    head = steps.compile_model(plan, teacher.model)
    half = plan.params.slots
    basis = steps.PublicBasis(np.arange(half), np.ones(1, np.int64))
    inputs = steps.Inputs(upload.features, [], basis.signs, basis.coefficients)
    projected = msgspec.structs.replace(spec, release="projection", q=8)
    (released,) = steps.answer(
        upload.evaluator, projected, plan.schedule, plan.specs, head.maps, inputs
    )
    coefficients = student._keys.decryptor.open(released).T
    rows = public_rows(plan.params.ring_degree, np.arange(half), SAMPLES, np.ones(1))
    logits = np.linalg.lstsq(rows, coefficients, rcond=None)[0]
    assert np.abs(logits - head.logits(samples.features)).max() <= plan.error_bound


def test_padding_repeats_samples_and_the_seed_decides_the_numbers():
    spec = spec_of("public")
    one, other = (Student(spec, backend="clear", seed=seed) for seed in (b"1", b"2"))
    teacher = Teacher(head_of(spec), backend="clear", max_numbers=math.inf)
    numbers = [
        student.open(teacher.answer(student.request(samples_of(spec)))).released
        for student in (one, other)
    ]
    # Coefficient 0, the mean, is always among them; the others differ with the seed.
    np.testing.assert_allclose(numbers[0][0], numbers[1][0])
    assert not np.allclose(numbers[0][1:], numbers[1][1:])


def test_one_upload_serves_many_models(linear):
    asked, teacher = linear.asked, linear.teacher
    keys = linear.student.public_keys
    upload = teacher.receive(asked.spec, asked.seed, keys, asked.features, asked.basis)
    for seed in (7, 8):
        other = Teacher(head_of(linear.plan.spec, seed), max_numbers=math.inf)
        opened = linear.student.open(other.evaluate(upload))
        again = Run(linear.plan, linear.student, other, linear.samples, b"", b"", opened)
        assert np.abs(opened.released - again.exact).max() <= linear.plan.error_bound


# -- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "hidden", "changes"),
    [
        ("public", 0, {}),
        ("logits", 0, {}),
        ("loss", 0, {}),
        ("class_sums", 0, {}),
        ("student", 0, {}),
        ("public", 4, {}),
        ("logits", 4, {}),
        ("public", 0, {"samples": 4796, "features": 2}),
        ("public", 0, {"samples": 9000, "features": 2}),
        ("public", 0, {"samples": 20, "features": 300}),
        ("logits", 0, {"samples": 4796, "features": 2}),
    ],
)
def test_messages_are_as_long_as_planned(release, hidden, changes):
    done = run(spec_of(release, hidden, **changes))
    plan, asked = done.plan, done.asked
    assert len(asked.features) == plan.feature_bytes
    assert len(asked.basis) == plan.basis_bytes
    assert len(asked.predictions) == plan.query_bytes
    assert len(asked.public_key) == plan.public_key_bytes
    assert len(asked.evaluation_keys) <= plan.evaluation_key_bytes
    assert len(asked.evaluation_keys) >= 0.9 * plan.evaluation_key_bytes
    assert len(done.answer) == plan.answer_bytes
    payload = plan.feature_bytes + plan.basis_bytes + plan.query_bytes + plan.public_key_bytes
    envelope = len(done.request) - payload - len(asked.evaluation_keys)
    assert 0 < envelope < 1000


# -- what a student refuses ----------------------------------------------------------------------


def with_features(samples, features):
    return Samples(features, samples.labels, samples.classes)


def test_samples_that_do_not_fit_are_refused_before_anything_is_encrypted(linear):
    student, samples = linear.student, linear.samples
    features = samples.features
    for wrong in (features[:-1], features[:, :-1], np.hstack([features, features])):
        labels = samples.labels[: len(wrong)]
        with pytest.raises(DataError, match="do not fit the plan"):
            student.request(Samples(wrong, labels, CLASSES))
    with pytest.raises(DataError, match="NaN or infinite"):
        with_features(samples, np.full_like(features, np.nan))
    with pytest.raises(DataError, match="NaN or infinite"):
        steps.pack(linear.plan, np.full_like(features, np.inf))


@pytest.mark.parametrize("row", [0, SAMPLES - 1])
@pytest.mark.parametrize("value", [1.001, -1.001, 1e9])
def test_features_beyond_the_bounds_are_refused_by_name(linear, row, value):
    features = linear.samples.features.copy()
    features[row, 1] = value
    with pytest.raises(DataError) as error:
        linear.student.request(with_features(linear.samples, features))
    assert error.value.where == "feature"
    assert error.value.hint


def test_samples_longer_than_the_bounds_are_refused():
    spec = spec_of("public", bounds=HeadBounds(feature=1.0, feature_norm=1.2))
    student = Student(spec, backend="clear")
    features = np.full((SAMPLES, FEATURES), 0.7)
    with pytest.raises(DataError) as error:
        student.request(Samples(features, np.arange(SAMPLES) % CLASSES, CLASSES))
    assert error.value.where == "feature_norm"


@pytest.mark.parametrize(
    "predictions",
    [
        np.full((SAMPLES, CLASSES), 0.6),
        np.full((SAMPLES - 1, CLASSES), 0.5),
        np.full((SAMPLES, CLASSES + 1), 1 / 3),
        np.full((SAMPLES, CLASSES), np.nan),
        np.tile([1.5, -0.5], (SAMPLES, 1)),
        np.tile([np.inf, -np.inf], (SAMPLES, 1)),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_predictions_that_are_no_probabilities_are_refused(predictions):
    student = run(spec_of("loss"), "clear").student
    with pytest.raises(DataError, match="probabilities"):
        student.encrypt_predictions(predictions)


def test_predictions_are_sent_where_they_are_needed_and_nowhere_else(linear):
    with pytest.raises(DataError, match="sends no predictions"):
        linear.student.encrypt_predictions(predictions_of(linear.plan.spec))
    loss = run(spec_of("loss"), "clear")
    with pytest.raises(DataError, match="needs the student's predictions"):
        loss.student.request(loss.samples)


def test_an_answer_cannot_be_opened_before_the_features_exist():
    done = run(spec_of("public"), "clear")
    with pytest.raises(EncryptionError, match="before the features"):
        Student(done.plan.spec, backend="clear", seed=SEED).open(done.answer)


def test_values_that_no_honest_model_has_are_refused():
    done = run(spec_of("public"), "clear")
    values = np.frombuffer(done.answer).copy()
    values[3] = done.plan.spec.bounds.logit * 1.1
    with pytest.raises(EncryptionError, match="out of range"):
        done.student.open(values.tobytes())


@given(cut=st.integers(1, 10**6), grow=st.booleans())
@settings(max_examples=25)
def test_answers_of_another_length_are_encryption_errors(linear, cut, grow):
    answer = linear.answer
    other = answer + bytes(cut) if grow else answer[: max(0, len(answer) - cut)]
    with pytest.raises(EncryptionError, match="wrong length"):
        linear.student.open(other)


@pytest.mark.parametrize("release", ["public", "logits", "loss", "student"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_damaged_answers_are_refused_or_wrong_and_nothing_else(release, seed):
    done = run(spec_of(release))
    rng = np.random.default_rng(seed)
    answer = bytearray(done.answer)
    for place in rng.integers(0, len(answer), 3):
        answer[place] ^= int(rng.integers(1, 256))
    try:
        opened = done.student.open(bytes(answer))
    except EncryptionError:
        return
    assert opened.released.shape == done.opened.released.shape


def test_several_answers_in_a_row_are_told_apart_by_their_length():
    done = run(spec_of("logits", samples=4796, features=2))
    for size in (0, 1, len(done.answer) // 2, len(done.answer) - 4, len(done.answer) + 4):
        with pytest.raises(EncryptionError, match="wrong length"):
            done.student.open((done.answer + bytes(8))[:size])


# -- what a teacher refuses ----------------------------------------------------------------------


@given(data=st.binary(max_size=400))
def test_random_bytes_are_no_request(linear, data):
    with pytest.raises(DataError, match="not a request"):
        linear.teacher.answer(data)


@given(place=st.integers(0, 10**9))
@settings(max_examples=30)
def test_a_truncated_request_is_no_request(linear, place):
    with pytest.raises(DataError, match="not a request"):
        linear.teacher.answer(linear.request[: place % len(linear.request)])


@pytest.mark.parametrize(
    "value",
    [None, 5, [], {}, "request", b"request", {"spec": 1}, [1, 2, 3], {"format": REQUEST_FORMAT}],
)
def test_other_messages_are_no_request(linear, value):
    with pytest.raises(DataError, match="not a request"):
        linear.teacher.answer(msgspec.msgpack.encode(value))


def test_unknown_fields_and_endless_nesting_are_no_request(linear):
    raw = msgspec.msgpack.decode(linear.request)
    for path in ([], ["spec"], ["spec", "bounds"]):
        changed = msgspec.msgpack.decode(linear.request)
        inner = changed
        for key in path:
            inner = inner[key]
        inner["extra"] = 1
        with pytest.raises(DataError, match="not a request"):
            linear.teacher.answer(msgspec.msgpack.encode(changed))
    head = msgspec.msgpack.encode({"spec": raw["spec"]})
    nested = head[:-1] + b"\x91" * 300_000
    with pytest.raises(DataError, match="not a request"):
        linear.teacher.answer(nested)
    with pytest.raises(DataError, match="not a request"):
        linear.teacher.answer(linear.request + b"\x00")


@pytest.mark.parametrize("earlier", [1, REQUEST_FORMAT - 1])
def test_another_format_is_refused(linear, earlier):
    with pytest.raises(DataError, match="unknown request format"):
        linear.teacher.answer(altered(linear.asked, format=earlier))


@pytest.mark.parametrize("field", ["public_key", "evaluation_keys", "features"])
@given(data=st.binary(max_size=100))
@settings(max_examples=10)
def test_fields_of_another_length_are_refused(linear, field, data):
    if field == "evaluation_keys" and not data:
        return
    with pytest.raises((EncryptionError, DataError)):
        linear.teacher.answer(altered(linear.asked, **{field: data}))


def test_more_keys_than_the_plan_lists_are_refused_unread():
    linear, loss = run(spec_of("public")), run(spec_of("loss"))
    with pytest.raises(EncryptionError, match="larger than the plan lists"):
        linear.teacher.answer(altered(linear.asked, evaluation_keys=b"x"))
    keys = loss.asked.evaluation_keys
    with pytest.raises(EncryptionError, match="larger than the plan lists"):
        loss.teacher.answer(altered(loss.asked, evaluation_keys=bytes(keys) + bytes(10**6)))
    with pytest.raises(EncryptionError, match="no relinearisation key"):
        loss.teacher.answer(altered(loss.asked, evaluation_keys=b""))


@given(seed=st.integers(0, 2**32), header=st.booleans())
@settings(max_examples=60)
def test_a_damaged_request_is_answered_or_refused_and_nothing_else(linear, seed, header):
    """A teacher meets whatever a stranger sends with an error of this package or an answer."""
    rng = np.random.default_rng(seed)
    data = bytearray(linear.request)
    reach = 700 if header else len(data)  # the spec travels in front
    for place in rng.integers(0, reach, rng.integers(1, 4)):
        data[place] ^= int(rng.integers(1, 256))
    try:
        answer = linear.teacher.answer(bytes(data))
    except SecureFairError:
        return
    assert len(answer) == linear.plan.answer_bytes


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": 61},
        {"precision": 2.0**-9},
        {"flooding_bits": 31},
        {"bounds": HeadBounds(logit=31.0)},
        {"q": 7},
    ],
)
def test_sides_that_plan_differently_notice_before_any_work(linear, changes):
    spec = msgspec.structs.replace(linear.plan.spec, **changes)
    with pytest.raises(PlanError, match=r"plan differently|floods less") as error:
        linear.teacher.answer(altered(linear.asked, spec=spec))
    assert "same version" in error.value.hint


@pytest.mark.parametrize(
    "bounds",
    [
        HeadBounds(logit=float("nan")),
        HeadBounds(output_l2=-1.0),
        HeadBounds(output_weight=float("inf")),
        HeadBounds(feature=0.0),
    ],
)
def test_bounds_that_bound_nothing_are_refused(linear, bounds):
    spec = msgspec.structs.replace(linear.plan.spec, bounds=bounds)
    with pytest.raises(PlanError) as error:
        linear.teacher.answer(altered(linear.asked, spec=spec))
    assert error.value.where.startswith("bounds.")


def test_too_little_flooding_is_refused_whoever_asks():
    spec = spec_of("public", flooding_bits=29)
    student = Student(spec, seed=SEED)
    request = student.request(samples_of(spec))
    with pytest.raises(PlanError) as error:
        Teacher(head_of(spec)).answer(request)
    assert error.value.where == "flooding_bits"
    assert Teacher(head_of(spec), min_flooding_bits=29).answer(request)
    strict = Teacher(head_of(spec), min_flooding_bits=40)
    asked = msgspec.msgpack.decode(request, type=Request)
    with pytest.raises(PlanError, match="too little"):
        strict.receive(spec, SEED, student.public_keys, asked.features, b"")


def test_more_numbers_than_allowed_are_refused(linear):
    numbers = linear.plan.spec.q * CLASSES
    Teacher(linear.teacher.model, max_numbers=numbers).answer(linear.request)
    with pytest.raises(LedgerError, match="too many numbers") as error:
        Teacher(linear.teacher.model, max_numbers=numbers - 1).answer(linear.request)
    assert error.value.found == numbers


@pytest.mark.parametrize(
    ("changes", "seed"),
    [
        ({"samples": SAMPLES + 1}, SEED),
        ({"q": 9}, SEED),
        ({"precision": 2.0**-20}, SEED),
        ({"release": "logits"}, SEED),
        ({"bounds": HeadBounds(logit=31.0)}, SEED),
        ({}, b"another seed"),
        ({}, None),
        ({"samples": SAMPLES - 1}, None),
    ],
)
def test_a_teacher_that_agreed_to_a_spec_answers_no_other(changes, seed):
    """Only the number of samples is the student's choice, up to the agreed one."""
    agreed = spec_of("public")
    asked = msgspec.structs.replace(agreed, **changes)
    teacher = Teacher(head_of(agreed), agreed, seed=SEED, backend="clear")
    student = Student(asked, backend="clear", seed=seed or SEED)
    request = student.request(samples_of(asked))
    if seed is None:
        assert teacher.answer(request)
        return
    with pytest.raises(PlanError, match="not what was agreed"):
        teacher.answer(request)


def bent(spec, edit):
    model = head_of(spec)
    with torch.no_grad():
        edit(model)
    return model


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda m: m.output_weights[0, 0].fill_(17.0), "quantised weight exceeds"),
        (lambda m: m.output_weights[1].fill_(-16.0), None),
        (lambda m: m.output_weights[0, 0].fill_(float("nan")), "NaN"),
        (lambda m: m.output_bias[0].fill_(float("inf")), "NaN"),
    ],
)
def test_models_beyond_the_public_bounds_are_refused(linear, edit, words):
    model = bent(linear.plan.spec, edit)
    if words is None:
        Teacher(model).answer(linear.request)
        return
    with pytest.raises(ModelError, match=words):
        Teacher(model).answer(linear.request)


@pytest.mark.parametrize(
    ("norm", "bounds"),
    [
        ("l1", HeadBounds(output_l1=0.5)),
        ("l2", HeadBounds(output_l2=0.25)),
    ],
)
def test_rows_beyond_the_public_norms_are_refused(norm, bounds):
    spec = spec_of("public", bounds=bounds)
    student = Student(spec, backend="clear", seed=SEED)
    model = bent(spec, lambda m: m.output_weights.fill_(0.4))
    with pytest.raises(ModelError, match=f"the {norm} norm"):
        Teacher(model, backend="clear").answer(student.request(samples_of(spec)))


@pytest.mark.parametrize("factor", [0.02, 1.0, 50.0])
def test_hidden_layers_of_any_size_fit_because_heads_are_balanced(factor):
    """What a unit gains in the first layer, its square loses in the second."""
    spec = spec_of("public", hidden=4)
    done = run(spec, "clear")

    def rescale(model):
        model.hidden_weights.mul_(factor)
        model.hidden_bias.mul_(factor)
        model.slope.mul_(factor)
        model.output_weights.div_(factor**2)

    model = bent(spec, rescale)
    np.testing.assert_allclose(
        model.logits(done.samples.features), head_of(spec).logits(done.samples.features)
    )
    opened = done.student.open(Teacher(model, backend="clear").answer(done.request))
    np.testing.assert_allclose(opened.released, done.opened.released, atol=1e-2)


@pytest.mark.parametrize("which", ["kind", "features", "classes"])
def test_a_model_of_another_shape_is_refused(linear, which):
    model = {
        "kind": lambda: build_head("quadratic", FEATURES, 3, CLASSES, 0),
        "features": lambda: build_head("linear", FEATURES + 1, 0, CLASSES, 0),
        "classes": lambda: build_head("linear", FEATURES, 0, CLASSES + 1, 0),
    }[which]()
    with pytest.raises(ModelError):
        Teacher(model).answer(linear.request)


def test_units_and_classes_without_weights_are_answered_like_any_other():
    """Nothing that a student sees, not even a failure, tells that a row is empty."""
    for hidden in (0, 4):
        done = run(spec_of("public", hidden))
        name = "hidden_weights" if hidden else "output_weights"
        model = bent(done.plan.spec, lambda m, n=name: getattr(m, n)[1].fill_(0.0))
        teacher = Teacher(model)
        opened = done.student.open(teacher.answer(done.request))
        empty = Run(done.plan, done.student, teacher, done.samples, b"", b"", opened)
        assert np.abs(opened.released - empty.exact).max() <= done.plan.error_bound


# -- secrets -------------------------------------------------------------------------------------


def test_nothing_private_prints(linear):
    weight = f"{linear.teacher.model.output_weights[0, 0].item():.6f}"
    sample = f"{linear.samples.features[0, 0]:.6f}"
    spec = linear.plan.spec
    asked = msgspec.msgpack.decode(linear.request, type=Request)
    upload = linear.teacher.receive(
        spec, SEED, linear.student.public_keys, asked.features, asked.basis
    )
    folded = linear.teacher.model.folded()
    things = [linear.student, linear.teacher, linear.student._keys, upload]
    for thing in (*things, folded, quantize(folded, spec.weight_bits), linear.plan):
        for text in (repr(thing), str(thing)):
            assert weight not in text
            assert sample not in text
            assert len(text) < 200
