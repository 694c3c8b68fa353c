"""The library calls that the README shows: three lines a side, bytes in between."""

import msgspec
import numpy as np
import pytest
import torch

import securefair as sf
from securefair.circuit.planner import plan_exchange
from securefair.errors import (
    DataError,
    EncryptionError,
    LedgerError,
    ModelError,
    PlanError,
    SecureFairError,
)
from securefair.exchange.binding import BOUND_BYTES
from securefair.exchange.request import Request, encode_request

SAMPLES, FEATURES, CLASSES, TEMPERATURE = 30, 5, 3, 4.0
MIXES = [("rns", "rns"), ("seal", "seal"), ("rns", "seal"), ("seal", "rns")]
RELEASES = [
    ("loss", "public"),
    ("class_sums", "public"),
    ("projection", "public"),
    ("projection", "student"),
    ("logits", "public"),
]


def spec(release="logits", basis="public", **changes):
    """A linear head; finer than the default where that costs nothing."""
    multiplies = release in ("loss", "class_sums") or basis == "student"
    facts = {
        "features": FEATURES,
        "classes": CLASSES,
        "samples": SAMPLES,
        "hidden": 0,
        "release": release,
        "basis": basis,
        "q": 6,
        "precision": 2.0**-12 if multiplies else 2.0**-18,
    }
    return sf.ExchangeSpec(**(facts | changes))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    return sf.Samples(
        rng.uniform(-1, 1, (SAMPLES, FEATURES)), rng.integers(0, CLASSES, SAMPLES), CLASSES
    )


@pytest.fixture(scope="module")
def predictions(samples):
    """A student's own softmax outputs."""
    logits = torch.from_numpy(
        sf.build_head("linear", FEATURES, 0, CLASSES, seed=8).logits(samples.features)
    )
    return torch.softmax(logits / TEMPERATURE, dim=1).numpy()


@pytest.fixture(scope="module")
def model():
    return sf.build_head("linear", FEATURES, 0, CLASSES, seed=7)


def exchange(asked, samples, model, predictions=None, *, student="clear", teacher="clear"):
    """The three lines of each side. `question` and `answer` are all that crosses."""
    hospital_a = sf.Student(asked, backend=student)
    question = hospital_a.request(samples, predictions=predictions)

    hospital_b = sf.Teacher(model, asked, backend=teacher)
    answer = hospital_b.answer(question)

    assert type(question) is type(answer) is bytes
    return hospital_a.open(answer, temperature=TEMPERATURE)


@pytest.mark.parametrize(("release", "basis"), RELEASES)
@pytest.mark.parametrize(("student", "teacher"), MIXES)
def test_every_release_through_every_mix_of_backends(
    release, basis, student, teacher, samples, predictions, model
):
    asked = spec(release, basis)
    if not asked.sends_predictions:
        predictions = None
    exact = exchange(asked, samples, model, predictions)
    opened = exchange(asked, samples, model, predictions, student=student, teacher=teacher)
    bound = plan_exchange(asked).error_bound
    if asked.sends_predictions:
        bound /= TEMPERATURE  # the plan bounds sums before the division
    assert opened.released.shape == exact.released.shape
    assert 0 < np.abs(opened.released - exact.released).max() <= bound
    assert opened.unexplained == exact.unexplained
    assert (opened.logits is None) == asked.sends_predictions


def test_loss_and_class_sums_are_what_they_are_called(samples, predictions, model):
    z = model.logits(samples.features)
    by_class = (predictions * z).sum(axis=0) / TEMPERATURE
    sums = exchange(spec("class_sums", weight_bits=14), samples, model, predictions).released
    loss = exchange(spec("loss", weight_bits=14), samples, model, predictions).released
    np.testing.assert_allclose(sums, by_class, atol=0.01)
    np.testing.assert_allclose(loss, by_class.sum(), atol=0.01)


def test_logits_are_those_of_the_model_but_for_rounded_weights(samples, model):
    opened = exchange(spec("logits"), samples, model)
    assert np.abs(opened.logits - model.logits(samples.features)).max() < 0.02
    fine = exchange(spec("logits", weight_bits=14), samples, model)
    assert np.abs(fine.logits - model.logits(samples.features)).max() < 0.005


@pytest.mark.parametrize("basis", ["public", "student"])
def test_more_projections_explain_more_of_the_logits(basis, samples, model):
    z = model.logits(samples.features)

    def missed(q):
        opened = exchange(spec("projection", basis, q=q), samples, model)
        return opened.unexplained, np.square(opened.logits - z).sum() / np.square(
            z - z.mean(0)
        ).sum()

    few, many = missed(5), missed(25)
    assert many[0] < few[0]
    assert many[1] < few[1]
    assert many[1] < 0.1


def test_a_quadratic_teacher_with_rns_and_a_seal_student(samples):
    asked = spec("logits", hidden=3)
    model = sf.build_head("quadratic", FEATURES, 3, CLASSES, seed=9)
    exact = exchange(asked, samples, model)
    opened = exchange(asked, samples, model, student="seal", teacher="rns")
    assert np.abs(opened.logits - exact.logits).max() <= plan_exchange(asked).error_bound
    assert np.abs(opened.logits - model.logits(samples.features)).max() < 0.05


class TestRefusals:
    def test_an_answer_under_another_students_key_tells_nothing(self, samples, model):
        asked = spec("logits")
        question = sf.Student(asked).request(samples)
        answer = sf.Teacher(model, spec()).answer(question)
        stranger = sf.Student(asked)
        stranger.request(samples)
        with pytest.raises(EncryptionError, match="answers another request"):
            stranger.open(answer)
        with pytest.raises(EncryptionError, match="out of range"):
            stranger.open_evaluated(answer[BOUND_BYTES:])

    @pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b[:40]])
    def test_a_request_of_the_wrong_length(self, damage, samples, model):
        question = sf.Student(spec()).request(samples)
        with pytest.raises(DataError, match="the bytes are not a request"):
            sf.Teacher(model, spec()).answer(damage(question))

    @pytest.mark.parametrize("data", [b"", b"\x00", b"hello", bytes(1000)])
    def test_bytes_that_were_never_a_request(self, data, model):
        with pytest.raises(DataError, match="the bytes are not a request"):
            sf.Teacher(model, spec()).answer(data)

    def test_an_unknown_format(self, samples, model):
        with pytest.raises(DataError, match="unknown request format"):
            sf.Teacher(model, spec()).answer(changed(sf.Student(spec()).request(samples), format=1))

    def test_another_plan_at_the_student(self, samples, model):
        question = changed(sf.Student(spec()).request(samples), digest=bytes(32))
        with pytest.raises(PlanError, match=r"plan differently.*same version"):
            sf.Teacher(model, spec()).answer(question)

    def test_too_little_flooding(self, samples, model):
        question = sf.Student(spec(flooding_bits=10)).request(samples)
        with pytest.raises(PlanError, match=r"flooding_bits: .*hide the model too little"):
            sf.Teacher(model, spec()).answer(question)

    def test_more_numbers_than_the_teacher_allows(self, samples, model):
        student = sf.Student(spec())
        question, numbers = student.request(samples), student.plan.numbers
        with pytest.raises(LedgerError, match=f"found {numbers}, expected 'at most {numbers - 1}'"):
            sf.Teacher(model, max_numbers=numbers - 1).answer(question)
        assert sf.Teacher(model, max_numbers=numbers).answer(question)

    def test_anything_but_what_was_agreed(self, samples, model):
        agreed = spec()
        question = sf.Student(agreed).request(samples)
        assert sf.Teacher(model, agreed).answer(question)
        others = [
            sf.Student(spec(release="projection", q=8)).request(samples),
            sf.Student(spec(flooding_bits=31)).request(samples),
            sf.Student(agreed, seed=b"mine").request(samples),
        ]
        fewer = msgspec.structs.replace(agreed, samples=agreed.samples - 1)
        for teacher, asked in [
            *((sf.Teacher(model, agreed), other) for other in others),
            (sf.Teacher(model, fewer), question),
        ]:
            with pytest.raises(PlanError, match="not what was agreed"):
                teacher.answer(asked)

    def test_damaged_features(self, samples, model):
        question = sf.Student(spec()).request(samples)
        request = msgspec.msgpack.decode(question, type=Request)
        with pytest.raises(EncryptionError, match="wrong length"):
            sf.Teacher(model, spec()).answer(changed(question, features=request.features[:-4]))
        broken = b"\xff" * 8 + request.features[8:]
        with pytest.raises(EncryptionError, match="not below its prime"):
            sf.Teacher(model, spec()).answer(changed(question, features=broken))

    def test_a_key_of_other_parameters(self, samples, model):
        question = sf.Student(spec()).request(samples)
        with pytest.raises(EncryptionError, match=r"public_key: .* wrong length"):
            sf.Teacher(model, spec()).answer(changed(question, public_key=b"\0" * 100))

    def test_a_model_of_another_shape(self):
        wide = sf.build_head("quadratic", FEATURES, 3, CLASSES, seed=0)
        with pytest.raises(ModelError, match="another model was agreed"):
            sf.Teacher(wide, spec())
        long = sf.build_head("linear", FEATURES + 1, 0, CLASSES, seed=0)
        with pytest.raises(ModelError, match="does not fit what was agreed"):
            sf.Teacher(long, spec())

    @pytest.mark.parametrize("backend", ["clear", "rns", "seal"])
    def test_a_damaged_answer(self, backend, samples, model):
        student = sf.Student(spec(), backend=backend)
        answer = sf.Teacher(model, spec(), backend=backend).answer(student.request(samples))
        for damaged in (answer[:-1], answer + b"\0", b""):
            with pytest.raises(EncryptionError, match=r"wrong length|changed on its way"):
                student.open(damaged)

    def test_a_projection_cannot_be_opened_before_features_were_encrypted(self, samples, model):
        asked = spec("projection")
        answer = sf.Teacher(model, backend="clear").answer(
            sf.Student(asked, backend="clear").request(samples)
        )
        with pytest.raises(EncryptionError, match="before a request was made") as found:
            sf.Student(asked, backend="clear").open(answer)
        assert "what a request leaves" in str(found.value)

    @pytest.mark.parametrize(
        "wrong",
        [np.full((SAMPLES, CLASSES), 0.5), np.ones((SAMPLES, 2)) / 2, -np.eye(SAMPLES, CLASSES)],
    )
    def test_predictions_that_are_no_probabilities(self, wrong, samples):
        student = sf.Student(spec("loss"), backend="clear")
        with pytest.raises(DataError, match="not the probabilities of every sample"):
            student.request(samples, predictions=wrong)

    def test_predictions_where_none_belong_and_none_where_they_do(self, samples, predictions):
        with pytest.raises(DataError, match="sends no predictions"):
            sf.Student(spec(), backend="clear").request(samples, predictions=predictions)
        with pytest.raises(DataError, match="loss: this release needs the student's predictions"):
            sf.Student(spec("loss"), backend="clear").request(samples)

    def test_other_samples_than_planned(self, samples):
        with pytest.raises(DataError, match="do not fit the plan"):
            sf.Student(spec(samples=31), backend="clear").request(samples)

    def test_an_unknown_backend(self):
        with pytest.raises(
            SecureFairError, match=r"unknown backend.*found 'sael'.*seal, rns.*Did you mean seal"
        ):
            sf.Student(spec(), backend="sael")


def changed(question, **fields):
    """The same request with some fields replaced."""
    request = msgspec.msgpack.decode(question, type=Request)
    return encode_request(msgspec.structs.replace(request, **fields))
