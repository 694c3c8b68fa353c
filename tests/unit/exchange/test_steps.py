"""Each arrow of the flow on its own, on the clear backend; the system tests join them."""

import numpy as np
import pytest
import torch

from securefair.circuit.answer import Inputs
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.data.dataset import Samples
from securefair.errors import DataError, EncryptionError, ModelError, PlanError
from securefair.exchange import learning, steps
from securefair.model.heads import build_head
from securefair.model.projection import SignedSeed, public_rows, sample_at, student_basis

CLASSES, FEATURES = 3, 4
ONE_BLOCK, TWO_BLOCKS = 30, 3000  # 2,048 slots at N = 4096, 4,096 at N = 8192
RELEASES = [
    ("loss", "public"),
    ("class_sums", "public"),
    ("projection", "public"),
    ("projection", "student"),
    ("logits", "public"),
]


def plan_for(samples=ONE_BLOCK, release="projection", basis="public", **changes):
    facts = {"features": FEATURES, "classes": CLASSES, "hidden": 0, "q": 8}
    return plan_exchange(
        ExchangeSpec(samples=samples, release=release, basis=basis, **(facts | changes))
    )


def some_samples(count=ONE_BLOCK, seed=0):
    rng = np.random.default_rng(seed)
    return Samples(rng.uniform(-1, 1, (count, FEATURES)), rng.integers(0, CLASSES, count), CLASSES)


def clear(plan):
    backend = get_backend("clear")
    keys = backend.generate_keys(plan.params)
    return keys, backend.evaluator(plan.params, PublicKeys(b"", b""))


class TestPublicBasis:
    def test_the_mean_and_q_minus_one_other_coefficients(self):
        basis = steps.public_basis(plan_for(), b"seed")
        assert basis.coefficients[0] == 0
        assert len(set(basis.coefficients.tolist())) == 8
        assert basis.signs.tolist() == [1]

    def test_equal_seeds_give_equal_bases_and_others_do_not(self):
        plan = plan_for(TWO_BLOCKS)
        one, same, other = (steps.public_basis(plan, seed) for seed in (b"a", b"a", b"b"))
        np.testing.assert_array_equal(one.coefficients, same.coefficients)
        np.testing.assert_array_equal(one.signs, same.signs)
        assert one.coefficients.tolist() != other.coefficients.tolist()
        assert len(one.signs) == plan.blocks == 2

    def test_blocks_are_added_and_under_signs_for_protocol_12_alone(self):
        plan = plan_for(TWO_BLOCKS)
        assert steps.public_basis(plan, b"").signs.tolist() == [1, 1]
        assert steps.public_basis(plan, SignedSeed()).signs.tolist() == [1, -1]

    def test_releases_without_coefficients_have_the_constant_one(self):
        assert steps.public_basis(plan_for(release="loss"), b"").coefficients.tolist() == [0]


@pytest.mark.parametrize("most", [1, 3])
def test_parts_of_an_upload_join_to_the_whole(monkeypatch, most):
    plan = plan_for(release="loss")
    (keys, _), meta = clear(plan), plan.features
    each = meta.limbs * meta.params.ring_degree
    slots = np.random.default_rng(0).uniform(-1, 1, (FEATURES, plan.params.slots))
    whole = keys.encryptor.encrypt(slots, meta)
    monkeypatch.setattr(steps, "ENCRYPTED_AT_ONCE", most * each if most > 1 else each - 1)
    assert steps.encrypted_at_once(meta) == most
    parts = list(steps.encrypted_parts(keys.encryptor, meta, slots))
    assert len(parts) == -(-FEATURES // most)
    assert b"".join(parts) == whole


class TestPack:
    def test_padding_repeats_the_samples_from_the_first(self):
        plan, samples = plan_for(release="loss"), some_samples()
        slots = steps.pack(plan, samples.features)
        assert slots.shape == (1, FEATURES, plan.params.slots)
        held = sample_at(ONE_BLOCK, plan.params.slots)
        np.testing.assert_array_equal(slots[0].T, samples.features[held])

    def test_blocks_follow_each_other(self):
        plan, samples = plan_for(TWO_BLOCKS), some_samples(TWO_BLOCKS)
        slots = steps.pack(plan, samples.features)
        flat = slots.swapaxes(1, 2).reshape(-1, FEATURES)
        assert slots.shape[0] == 2
        np.testing.assert_array_equal(flat[:TWO_BLOCKS], samples.features)
        held = sample_at(TWO_BLOCKS, len(flat))
        np.testing.assert_array_equal(flat[TWO_BLOCKS:], samples.features[held[TWO_BLOCKS:]])

    def test_factors_are_zero_beyond_the_samples(self):
        plan = plan_for(TWO_BLOCKS)
        slots = steps.pack_factors(plan, np.ones((TWO_BLOCKS, 2)))
        assert slots.shape == (2, 2, plan.params.slots)
        assert slots.sum() == 2 * TWO_BLOCKS
        assert not slots[1, :, TWO_BLOCKS - plan.params.slots :].any()

    @pytest.mark.parametrize("shape", [(29, FEATURES), (ONE_BLOCK, 5), (ONE_BLOCK,)])
    def test_another_shape_is_refused(self, shape):
        with pytest.raises(DataError, match="do not fit the plan"):
            steps.pack(plan_for(), np.zeros(shape))

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_is_not_a_number_is_refused(self, bad):
        features = some_samples().features
        features[3, 1] = bad
        with pytest.raises(DataError, match=r"NaN or infinite.*Fill missing values"):
            steps.pack(plan_for(), features)

    def test_a_feature_beyond_its_public_bound_is_refused(self):
        features = some_samples().features
        features[3, 1] = -1.01
        with pytest.raises(DataError, match=r"^feature: .*found 1.01, expected 'at most 1.0'"):
            steps.pack(plan_for(), features)

    def test_a_sample_longer_than_the_public_norm_is_refused(self):
        plan = plan_for(bounds=HeadBounds(feature_norm=1.0))
        features = some_samples().features / 2
        steps.pack(plan, features)
        features[5] = 0.6
        with pytest.raises(DataError, match=r"^feature_norm: .*found 1.2, expected 'at most 1.0'"):
            steps.pack(plan, features)

    def test_bounds_themselves_are_allowed(self):
        steps.pack(plan_for(), np.ones((ONE_BLOCK, FEATURES)))


class TestUpload:
    def test_what_is_encrypted_block_by_block_is_received_so(self):
        plan, samples = plan_for(TWO_BLOCKS), some_samples(TWO_BLOCKS)
        keys, evaluator = clear(plan)
        slots = steps.pack(plan, samples.features)
        upload = steps.encrypt(keys.encryptor, plan.features, slots)
        received = steps.receive(evaluator, plan.features, upload, plan.blocks)
        np.testing.assert_array_equal([tensor.payload for tensor in received], slots)

    def test_a_length_that_does_not_divide_is_refused(self):
        plan = plan_for(TWO_BLOCKS)
        _, evaluator = clear(plan)
        with pytest.raises(DataError, match="does not divide into blocks"):
            steps.receive(evaluator, plan.features, b"odd", plan.blocks)

    def test_a_block_of_the_wrong_length_is_refused(self):
        plan = plan_for()
        _, evaluator = clear(plan)
        with pytest.raises(EncryptionError, match="wrong length"):
            steps.receive(evaluator, plan.features, bytes(8), plan.blocks)


class TestCompileModel:
    @pytest.mark.parametrize("hidden", [0, 6])
    def test_the_function_stays_within_the_rounding(self, hidden):
        plan, samples = plan_for(hidden=hidden), some_samples()
        kind = "quadratic" if hidden else "linear"
        model = build_head(kind, FEATURES, hidden, CLASSES, seed=2)
        compiled = steps.compile_model(plan, model)
        change = np.abs(compiled.logits(samples.features) - model.logits(samples.features)).max()
        assert 0 < change < 0.02
        scales = [scale for scale in compiled.quantized.log2_scales if scale is not None]
        assert scales == [spec.log2_scale for spec in plan.specs]

    def test_hidden_units_are_balanced_whatever_their_size(self):
        """Or a model that has grown in training would leave the public bounds."""
        plan = plan_for(hidden=6)
        model = build_head("quadratic", FEATURES, 6, CLASSES, seed=2)
        with torch.no_grad():
            model.hidden_weights.mul_(20.0)
            model.output_weights.div_(400.0)
        first = steps.compile_model(plan, model).quantized.network.weighted[0]
        norms = np.sqrt((first.weights**2).sum(axis=1) + first.bias**2)
        np.testing.assert_allclose(norms, plan.spec.bounds.row_norm, atol=1e-3)

    @pytest.mark.parametrize(("planned", "kind"), [(0, "quadratic"), (6, "linear")])
    def test_another_kind_of_head_is_refused(self, planned, kind):
        with pytest.raises(ModelError, match="another model was agreed"):
            steps.compile_model(
                plan_for(hidden=planned), build_head(kind, FEATURES, 6, CLASSES, seed=0)
            )


def answer_and_rows(release, basis, count):
    """A clear answer, opened; the rounded teacher's logits; predictions; rows of projections."""
    plan, samples = plan_for(count, release, basis), some_samples(count)
    keys, evaluator = clear(plan)
    public = steps.public_basis(plan, b"seed")
    model = build_head("linear", FEATURES, 0, CLASSES, seed=2)
    own = build_head("linear", FEATURES, 0, CLASSES, seed=3)
    p = learning.predictions(own, samples, 5.0)
    rows = (
        student_basis(samples, plan.spec.q)
        if basis == "student"
        else public_rows(plan.ring_degree, public.coefficients, count, public.signs.astype(float))
    )

    def upload(meta, slots):
        data = steps.encrypt(keys.encryptor, meta, slots)
        return steps.receive(evaluator, meta, data, plan.blocks)

    factors = []
    if plan.factors is not None:
        columns = rows.T if basis == "student" else p
        factors = upload(plan.factors, steps.pack_factors(plan, columns))
    inputs = Inputs(
        upload(plan.features, steps.pack(plan, samples.features)),
        factors,
        public.signs,
        public.coefficients,
    )
    head = steps.compile_model(plan, model)
    data = steps.infer(evaluator, plan, head, inputs)
    opened = steps.open_answer(keys.decryptor, plan, public, data)
    return opened, head.logits(samples.features), p, rows


class TestAnswer:
    @pytest.mark.parametrize("count", [ONE_BLOCK, TWO_BLOCKS])
    @pytest.mark.parametrize(("release", "basis"), RELEASES)
    def test_every_release_is_the_sum_that_its_definition_says(self, release, basis, count):
        if basis == "student" and count == TWO_BLOCKS:
            count = 5000  # its ring holds 4,096 samples a block
        opened, z, p, rows = answer_and_rows(release, basis, count)
        expected = {
            "loss": (p * z).sum(),
            "class_sums": (p * z).sum(axis=0),
            "projection": rows @ z,
            "logits": z,
        }[release]
        assert opened.shape == np.shape(expected)
        plan = plan_for(count, release, basis)
        # Logits of few samples come of a rounded form, which counts as encryption's error.
        exact = 1e-9 * max(1.0, np.abs(expected).max())
        atol = exact if plan.schedule.packing != "monomials" else plan.error_bound
        np.testing.assert_allclose(opened, expected, atol=atol)

    def test_an_answer_of_another_length_is_refused(self):
        plan = plan_for()
        keys, _ = clear(plan)
        basis = steps.public_basis(plan, b"")
        with pytest.raises(EncryptionError, match="wrong length"):
            steps.open_answer(keys.decryptor, plan, basis, bytes(7))


def test_specs_that_no_plan_grants_say_what_would():
    with pytest.raises(PlanError, match=r"^q: .*Choose q = 15 or less"):
        plan_for(q=30)
