"""What a teacher refuses: requests that are none, other plans, and models out of bounds."""

import copy
import pickle

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.circuit.spec import HeadBounds
from securefair.errors import (
    BackendUnavailableError,
    DataError,
    LedgerError,
    ModelError,
    PlanError,
    SecureFairError,
    StorageError,
)
from securefair.exchange.request import REQUEST_FORMAT, Request
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import LinearHead, build_head
from support.examples import examples
from support.parties import (
    CLASSES,
    FEATURES,
    SAMPLES,
    SEED,
    Run,
    altered,
    head_of,
    run,
    samples_of,
    spec_of,
)


@given(data=st.binary(max_size=400))
def test_random_bytes_are_no_request(linear, data):
    with pytest.raises(DataError, match="not a request"):
        linear.teacher.answer(data)


@given(place=st.integers(0, 10**9))
@settings(max_examples=examples(30))
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


@given(seed=st.integers(0, 2**32), header=st.booleans())
def test_a_damaged_request_is_refused_and_not_charged(linear, seed, header):
    """A teacher meets whatever a stranger sends with an error of this package."""
    rng = np.random.default_rng(seed)
    data = bytearray(linear.request)
    reach = 700 if header else len(data)  # the spec travels in front
    for place in rng.choice(reach, rng.integers(1, 4), replace=False):
        data[place] ^= int(rng.integers(1, 256))
    once = Teacher(linear.teacher.model, max_numbers=linear.plan.numbers)
    with pytest.raises(SecureFairError):
        once.answer(bytes(data))
    assert once.answer(linear.request)


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
    assert Teacher(head_of(spec), spec, seed=SEED, min_flooding_bits=29).answer(request)
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
        Teacher(model, linear.plan.spec, seed=SEED).answer(linear.request)
        return
    with pytest.raises(ModelError) as refused:
        Teacher(model, linear.plan.spec, seed=SEED).answer(linear.request)
    # What does not depend on what was asked is said at once.
    assert words in str(refused.value if words == "NaN" else refused.value.__cause__)


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
    with pytest.raises(ModelError) as refused:
        Teacher(model, spec, seed=SEED, backend="clear").answer(student.request(samples_of(spec)))
    assert f"the {norm} norm" in str(refused.value.__cause__)


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
    opened = done.student.open(
        Teacher(model, backend="clear").answer(done.request), request=done.request
    )
    np.testing.assert_allclose(opened.released, done.opened.released, atol=1e-2)


@pytest.mark.parametrize("which", ["kind", "features", "classes"])
def test_a_model_of_another_shape_is_refused(linear, which):
    model = {
        "kind": lambda: build_head("quadratic", FEATURES, 3, CLASSES, 0),
        "features": lambda: build_head("linear", FEATURES + 1, 0, CLASSES, 0),
        "classes": lambda: build_head("linear", FEATURES, 0, CLASSES + 1, 0),
    }[which]()
    with pytest.raises(ModelError):
        Teacher(model, linear.plan.spec, seed=SEED).answer(linear.request)


def test_units_and_classes_without_weights_are_answered_like_any_other():
    """Nothing that a student sees, not even a failure, tells that a row is empty."""
    for hidden in (0, 4):
        done = run(spec_of("public", hidden))
        name = "hidden_weights" if hidden else "output_weights"
        model = bent(done.plan.spec, lambda m, n=name: getattr(m, n)[1].fill_(0.0))
        teacher = Teacher(model, done.plan.spec, seed=SEED)
        opened = done.student.open(teacher.answer(done.request), request=done.request)
        empty = Run(done.plan, done.student, teacher, done.samples, b"", b"", opened)
        assert np.abs(opened.released - empty.exact).max() <= done.plan.error_bound


@pytest.mark.parametrize(
    ("features", "classes"), [(FEATURES + 1, CLASSES), (FEATURES, CLASSES + 1)]
)
def test_a_model_of_other_widths_than_were_agreed_is_refused_at_once(features, classes):
    head = build_head("linear", features, 0, classes, 0)
    with pytest.raises(ModelError, match="does not fit what was agreed"):
        Teacher(head, spec_of("public"))
    quadratic = build_head("quadratic", FEATURES, 3, CLASSES, 0)
    with pytest.raises(ModelError, match="another model was agreed"):
        Teacher(quadratic, spec_of("public"))


def test_what_is_no_bytes_is_refused_by_name(linear):
    with pytest.raises(DataError, match=r"request: request comes as bytes .*Samples"):
        linear.teacher.answer(linear.samples)
    with pytest.raises(DataError, match=r"upload: .*answer takes a whole request"):
        linear.teacher.evaluate(linear.request)
    for seed in ("2026", 7):
        with pytest.raises(DataError, match="seed: a public seed is bytes"):
            Teacher(head_of(spec_of("public")), spec_of("public"), seed=seed)


def test_a_limit_is_a_number():
    with pytest.raises(LedgerError, match="max_numbers: not a limit"):
        Teacher(head_of(spec_of("public")), spec_of("public"), max_numbers="16")


def test_no_side_is_pickled_or_copied_and_none_prints_weights(linear):
    for side in (linear.teacher, linear.student):
        for carry in (pickle.dumps, copy.deepcopy):
            with pytest.raises(StorageError, match=r"secrets would lie in the clear.*save\("):
                carry(side)
    assert repr(linear.teacher).startswith("Teacher(")
    assert "projection" in repr(Teacher(head_of(spec_of("public")), spec_of("public")))


@pytest.mark.parametrize("module", [True, False])
def test_a_model_is_copied_when_its_teacher_is_made(module):
    """A module was copied and a head was not: who trained on got one or the other."""
    spec = spec_of("logits")
    model = torch.nn.Linear(FEATURES, CLASSES) if module else head_of(spec)
    teacher = Teacher(model, spec, backend="clear")
    before = teacher.model.logits(samples_of(spec).features)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-1)
    student = Student(spec, backend="clear")
    opened = student.open(teacher.answer(student.request(samples_of(spec))))
    assert np.abs(opened.logits - before).max() < 0.05


def test_a_class_is_no_model():
    with pytest.raises(ModelError, match="not its class"):
        Teacher(LinearHead, spec_of("public"))


@pytest.mark.parametrize(
    ("arguments", "error", "where"),
    [
        ({"agreed": "x"}, PlanError, "agreed"),
        ({"min_samples": "3"}, PlanError, "min_samples"),
        ({"min_flooding_bits": "3"}, PlanError, "min_flooding_bits"),
        ({"backend": None}, BackendUnavailableError, "backend"),
        ({"store": 3}, StorageError, "store"),
    ],
)
def test_arguments_of_other_types_are_refused_by_name(arguments, error, where):
    with pytest.raises(error) as refused:
        Teacher(head_of(spec_of("public")), **{"agreed": spec_of("public")} | arguments)
    assert refused.value.where == where
