"""A stack of networks trains exactly as each network trains on its own under torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.architectures import architecture
from securefair.model.batches import StackedSamples, draw_batches
from securefair.model.gradients import flat_gradient
from securefair.model.losses import approximate_kl
from securefair.model.stacked import Build, Stacked
from securefair.model.stacked_training import (
    Distillation,
    Proximal,
    TrainStates,
    all_logits,
    gradients,
    loss_gradients,
    train,
)
from securefair.model.training import TrainState, train_epochs
from support.stacks import (
    CLASSES,
    FEATURES,
    OPTIMIZER,
    head,
    normed,
    samples,
    stack,
    trained,
)


@pytest.mark.parametrize("size", [None, 4, 100])
def test_every_row_trains_as_a_train_state_of_its_own(size: int | None) -> None:
    parts = [samples(9, 1), samples(23, 2), samples(8, 3)]
    stacked = stack()
    start, result = trained(stacked, parts, size)
    for n, part in enumerate(parts):
        network = stacked.network(start.vectors[n])
        train_state = TrainState.start(network, OPTIMIZER)  # type: ignore[arg-type]
        train_epochs(train_state, part, 2, batch_size=size, seed=n)
        torch.testing.assert_close(result.vectors[n], stacked.vector(train_state.model))


def test_batch_norm_keeps_running_statistics_of_its_own_participant() -> None:
    parts = [samples(12, 1), samples(12, 2)]
    stacked = stack(normed)
    start, result = trained(stacked, parts, 6, epochs=1)
    for n, part in enumerate(parts):
        network = stacked.network(start.vectors[n]).train()
        train_state = TrainState.start(network, OPTIMIZER)  # type: ignore[arg-type]
        train_epochs(train_state, part, 1, batch_size=6, seed=n)
        torch.testing.assert_close(result.vectors[n], stacked.vector(train_state.model))
    statistics = result.vectors[:, stacked.trained :]
    assert statistics.shape[1] == 12
    assert not torch.equal(statistics[0], statistics[1])


@pytest.mark.parametrize("size", [None, 100])
def test_full_batches_count_every_sample_once(size: int | None) -> None:
    """Whoever has more samples: batch norm would see what a batch was filled up with."""
    parts = [samples(9, 1), samples(23, 2), samples(8, 3)]
    stacked = stack(normed)
    start, result = trained(stacked, parts, size)
    for n, part in enumerate(parts):
        network = stacked.network(start.vectors[n]).train()
        train_state = TrainState.start(network, OPTIMIZER)  # type: ignore[arg-type]
        train_epochs(train_state, part, 2)
        torch.testing.assert_close(result.vectors[n], stacked.vector(train_state.model))


@pytest.mark.parametrize(("counts", "size"), [([5, 1, 4], None), ([5, 1, 4], 4), ([5, 3], 1)])
def test_batch_norm_refuses_batches_of_one_sample(counts: list[int], size: int | None) -> None:
    parts = [samples(count) for count in counts]
    culprits = "participant 1, participant 2" if size == 1 else "participant 2"
    with pytest.raises(ConfigError, match=f"^{culprits}: batch normalisation"):
        trained(stack(normed), parts, size)
    trained(stack(), parts, size)  # others take them


def convolving(
    generator: torch.Generator, normalisation: Callable[[int], nn.Module] = nn.BatchNorm2d
) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator.initial_seed())
        return nn.Sequential(
            nn.Conv2d(1, 3, 3, stride=2),
            normalisation(3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(12, CLASSES),
        )


def images(count: int, seed: int) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples(rng.normal(size=(count, 1, 9, 9)), rng.integers(0, CLASSES, count), CLASSES)


@pytest.mark.parametrize("extra", ["nothing", "teachers", "anchor"])
def test_both_forms_compute_the_same(extra: str) -> None:
    parts = [images(9, 1), images(23, 2), images(8, 3)]
    results = []
    for form in ("batched", "rows"):
        stacked = Stacked(convolving, dtype=torch.float64, form=form)  # type: ignore[arg-type]
        assert stacked.form == form
        data = StackedSamples.of(parts, stacked)
        teachers = all_logits(stacked, stacked.initial([7, 8]), data.features)
        more: dict[str, object] = {}
        if extra == "teachers":
            pull = torch.tensor([3.0, 0.0, 5.0], dtype=torch.float64)
            more["distillation"] = Distillation(teachers.mean(0), pull, 5.0)
        if extra == "anchor":
            more["proximal"] = Proximal(stacked.initial([7] * 3)[:, : stacked.trained], 0.5)
        _, result = trained(stacked, parts, 4, **more)
        test = stacked.logits(result.vectors, data.features, shared=True)
        own = stacked.logits(result.vectors, torch.stack([data.features[:8]] * 3))
        torch.testing.assert_close(own, test[:, :8])
        results.append((result.vectors, result.momentum, teachers, test))
    for batched, rows in zip(*results, strict=True):
        torch.testing.assert_close(batched, rows)


def test_rows_do_not_depend_on_how_many_cores_compute_them() -> None:
    parts = [images(9, 1), images(23, 2), images(8, 3)]
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(trained(Stacked(convolving, form="rows"), parts, 4)[1])
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0].vectors, found[1].vectors)
    assert torch.equal(found[0].momentum, found[1].momentum)


@pytest.mark.slow
def test_one_computation_has_the_same_result_on_several_cores() -> None:
    parts = [samples(9, 1), samples(23, 2), samples(8, 3)]
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(trained(stack(normed), parts, 4)[1])
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(found[0].vectors, found[1].vectors)


@pytest.mark.parametrize("name", ["mlp-64", "small-cnn", "cnn"])
def test_networks_of_known_layers_compute_together(name: str) -> None:
    assert Stacked(architecture(name, (1, 28, 28), 10)).form == "batched"


@pytest.mark.filterwarnings(
    "ignore:.*weight_norm:FutureWarning", "ignore:.*weight_norm:UserWarning"
)
@pytest.mark.parametrize(
    "compute", [lambda layer: layer, nn.utils.spectral_norm, nn.utils.weight_norm]
)
def test_a_layer_on_its_own_is_a_network(compute: Callable[[nn.Module], nn.Module]) -> None:
    def build(generator: torch.Generator) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator.initial_seed())
            return compute(nn.Linear(FEATURES, CLASSES))

    stacked = stack(build)
    vectors, features = stacked.initial([1, 2]), torch.from_numpy(samples(4).features)
    for vector, logits in zip(vectors, stacked.logits(vectors, features, shared=True), strict=True):
        torch.testing.assert_close(logits, stacked.network(vector)(features).detach())


def test_many_convolutions_among_unknown_layers_go_one_by_one_on_processors() -> None:
    def wide(_: torch.Generator) -> nn.Module:
        return nn.Sequential(nn.Conv2d(1, 200, 11), nn.BatchNorm2d(200), nn.Flatten())

    assert Stacked(convolving).form == "batched"
    assert Stacked(wide).form == "rows"


def instance_normed(generator: torch.Generator) -> nn.Module:
    """Normalises no batch, but averages over one what it measures."""
    return convolving(generator, lambda c: nn.InstanceNorm2d(c, track_running_stats=True))


@pytest.mark.parametrize("size", [None, 4, 16])
@pytest.mark.parametrize("build", [head, normed, convolving, instance_normed])
def test_a_participant_does_not_depend_on_who_else_trains(build: Build, size: int | None) -> None:
    make = images if build in (convolving, instance_normed) else samples
    stacked = stack(build)
    _, alone = trained(stacked, [make(9, 1)], size)
    for others in ([23, 8], [7, 9], [40]):
        parts = [make(9, 1), *(make(count, count) for count in others)]
        _, together = trained(stacked, parts, size)
        torch.testing.assert_close(together.vectors[:1], alone.vectors)
        torch.testing.assert_close(together.momentum[:1], alone.momentum)


def test_only_what_measures_batches_is_computed_by_their_sizes() -> None:
    parts = [samples(count, 1) for count in (9, 23, 3, 30)]
    for build, size, expected in (
        (head, None, [[3, 1, 0, 2]]),
        (normed, None, [[3], [1], [0], [2]]),
        (normed, 9, [[3, 1, 0], [2]]),
    ):
        stacked = stack(build)
        data = StackedSamples.of(parts, stacked)
        batches = draw_batches(data, range(4), epochs=2, size=size)
        assert batches.groups(stacked) == expected


@pytest.mark.parametrize("build", [head, normed])
def test_who_uses_no_samples_takes_no_steps(build: Build) -> None:
    stacked = stack(build)
    data = StackedSamples.of([samples(9), samples(3)], stacked)
    start = TrainStates.start(stacked, [0, 1])
    within = [np.arange(4), np.arange(0)]
    batches = draw_batches(data, [0, 1], epochs=2, size=4, within=within)
    result = train(stacked, start, data, batches, OPTIMIZER)
    assert torch.equal(result.vectors[1], start.vectors[1])
    assert not torch.equal(result.vectors[0], start.vectors[0])


def test_training_leaves_its_arguments_alone() -> None:
    parts = [samples(9, 1), samples(9, 2)]
    stacked = stack(normed)
    data = StackedSamples.of(parts, stacked)
    start = TrainStates.start(stacked, [0, 1])
    before = start.vectors.clone()
    train(stacked, start, data, draw_batches(data, [0, 1], epochs=1, size=4), OPTIMIZER)
    assert torch.equal(start.vectors, before)
    assert not start.momentum.any()


def test_the_mean_of_the_teachers_gives_the_gradient_of_all_teachers() -> None:
    part = samples(10, 1)
    stacked = stack()
    vector = stacked.initial([7])[0]
    rng = np.random.default_rng(3)
    teachers = torch.from_numpy(rng.normal(size=(2, 10, CLASSES)))
    shares = torch.tensor([0.5, 2.0], dtype=torch.float64)
    mean = (shares[:, None, None] * teachers).sum(0) / shares.sum()

    def losses(logits: torch.Tensor, rows: slice) -> list[torch.Tensor]:
        return [approximate_kl(logits, z[rows], 5.0).sum() for z in (*teachers, mean)]

    first, second, together = loss_gradients(
        stacked, vector, torch.from_numpy(part.features), losses
    )
    torch.testing.assert_close(0.5 * first + 2.0 * second, 2.5 * together)
    network = stacked.network(vector)
    logits = network(torch.from_numpy(part.features))
    loss = approximate_kl(logits, teachers[1], 5.0).mean()
    np.testing.assert_allclose(second.numpy(), flat_gradient(loss, network), atol=1e-12)


def test_gradients_of_many_samples_are_taken_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    stacked, parts = stack(normed), [samples(23, 1), samples(8, 2)]
    data = StackedSamples.of(parts, stacked)
    whole = gradients(stacked, stacked.initial([1, 2]), data)
    monkeypatch.setattr("securefair.model.stacked_training.GRADIENT_CHUNK", 5)
    torch.testing.assert_close(whole, gradients(stacked, stacked.initial([1, 2]), data))


def test_the_gradient_of_the_cross_entropy_is_torchs() -> None:
    parts = [samples(10, 1), samples(4, 2)]
    stacked = stack(normed)
    data = StackedSamples.of(parts, stacked)
    vectors = stacked.initial([7, 8])
    found = gradients(stacked, vectors, data, temperature=2.0)
    for n, part in enumerate(parts):
        network = stacked.network(vectors[n])
        logits = network(torch.from_numpy(part.features))
        loss = cross_entropy(logits / 2, torch.from_numpy(part.labels))
        np.testing.assert_allclose(found[n].numpy(), flat_gradient(loss, network), atol=1e-12)


def test_distillation_alone_pulls_towards_the_teacher() -> None:
    part = samples(30, 1)
    stacked = stack()
    data = StackedSamples.of([part], stacked)
    teacher = all_logits(stacked, stacked.initial([5]), data.features)[0]
    told = Distillation(teacher, torch.tensor([5000.0], dtype=torch.float64), 5.0)
    start, result = trained(stacked, [part], None, epochs=100, distillation=told)
    before, after = (
        approximate_kl(
            all_logits(stacked, train_states.vectors, data.features)[0], teacher, 5.0
        ).mean()
        for train_states in (start, result)
    )
    least = approximate_kl(teacher, teacher, 5.0).mean()
    assert after - least < (before - least) / 2


def test_a_proximal_term_keeps_closer_to_the_anchor() -> None:
    parts = [samples(30, 1), samples(30, 2)]
    stacked = stack()
    start, free = trained(stacked, parts, None, epochs=20)
    anchor = start.vectors[:, : stacked.trained]
    _, held = trained(stacked, parts, None, epochs=20, proximal=Proximal(anchor, 1.0))
    assert (
        (held.vectors - start.vectors).norm(dim=1) < (free.vectors - start.vectors).norm(dim=1)
    ).all()


def test_frozen_parameters_do_not_move() -> None:
    stacked = stack()
    frozen = torch.zeros(stacked.trained, dtype=torch.bool)
    frozen[:10] = True
    start, result = trained(stacked, [samples(9), samples(9)], 4, frozen=frozen)
    assert torch.equal(start.vectors[:, :10], result.vectors[:, :10])
    assert not torch.equal(start.vectors[:, 10:], result.vectors[:, 10:])


def test_divergence_names_the_participant() -> None:
    stacked = stack()
    data = StackedSamples.of([samples(9), samples(9)], stacked)
    start = TrainStates.start(stacked, [0, 1])
    start.vectors[1] = 1e300
    batches = draw_batches(data, [0, 1], epochs=1, size=None)
    with pytest.raises(ModelError, match="participant 2: the training diverged"):
        train(stacked, start, data, batches, OPTIMIZER)


def test_a_participant_without_samples_is_refused() -> None:
    with pytest.raises(DataError, match="participant 2"):
        StackedSamples.of([samples(3), samples(0)], stack())


def test_a_network_that_draws_random_numbers_is_refused() -> None:
    with pytest.raises(ModelError, match="Dropout"):
        stack(lambda _: nn.Sequential(nn.Linear(FEATURES, CLASSES), nn.Dropout(0.1)))


def test_statistics_that_count_batches_are_refused() -> None:
    with pytest.raises(ModelError, match="momentum=None"):
        stack(lambda _: nn.Sequential(nn.BatchNorm1d(5, momentum=None), nn.Linear(5, 3)))


def test_batches_are_means_over_their_own_samples() -> None:
    stacked = stack()
    data = StackedSamples.of([samples(5), samples(11)], stacked)
    batches = draw_batches(data, [1, 2], epochs=3, size=4)
    for n, count in enumerate((5, 11)):
        np.testing.assert_allclose(batches.weights[n].sum(axis=1), 1.0)
        counted = batches.indices[n][batches.weights[n] > 0]
        own = data.rows(n)
        np.testing.assert_array_equal(
            np.bincount(counted - own.start, minlength=count), np.full(count, 3)
        )
