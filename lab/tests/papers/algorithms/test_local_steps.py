"""Local steps along any gradient: those of training, several models at once, several orders."""

from dataclasses import replace

import pytest
import torch

from securefair.errors import ModelError
from securefair.model.stacked_training import TrainStates
from securefair_lab.papers.algorithms.local_steps import local_steps


@pytest.fixture
def set_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("network", "form"), [("logistic", "batched"), ("small-cnn", "batched"), ("small-cnn", "rows")]
)
def test_steps_along_the_gradient_are_what_train_does(
    make_networks, make_images, set_threads, network, form, threads
):
    set_threads(threads)
    more = {}
    if network == "small-cnn":

        def images(part):
            return replace(part, features=part.features.reshape(-1, 1, 8, 8))

        more["participants"] = tuple(
            replace(p, train=images(p.train), test=images(p.test)) for p in make_images()
        )
    population = make_networks(network=network, batch_size=8, **more)
    population.stacked.form = form
    train_states = population.start(0, common=True)
    expected = population.train(train_states, epochs=2, seed=3, clock=4)
    start = train_states.vectors.clone()
    (found,) = local_steps(
        population,
        [train_states],
        lambda step, models: [step.gradients(models[0])],
        epochs=2,
        seed=3,
        clock=4,
        optimizer=population.optimizer,
    )
    torch.testing.assert_close(found.vectors, expected.vectors)
    torch.testing.assert_close(found.momentum, expected.momentum)
    assert torch.equal(train_states.vectors, start)


def test_models_move_at_once_and_each_with_its_own_momentum(make_momentum_networks):
    population = make_momentum_networks()
    one, two = population.start(0, common=True), population.start(1, common=False)
    trained = [population.train(own, epochs=2, seed=3, clock=4) for own in (one, two)]
    settings = {"epochs": 2, "seed": 3, "clock": 4, "optimizer": population.optimizer}
    found = local_steps(
        population,
        [one, two],
        lambda step, models: [step.gradients(own) for own in models],
        **settings,
    )
    for own, expected in zip(found, trained, strict=True):
        torch.testing.assert_close(own.vectors, expected.vectors)
        torch.testing.assert_close(own.momentum, expected.momentum)
    one_step = {**settings, "epochs": 1, "optimizer": replace(population.optimizer, momentum=0.0)}
    population = make_momentum_networks(batch_size=None)
    swapped = local_steps(
        population, [one, two], lambda _, models: [models[1].clone(), models[0].clone()], **one_step
    )
    torch.testing.assert_close(swapped[0].vectors, one.vectors - 0.05 * two.vectors)
    torch.testing.assert_close(swapped[1].vectors, two.vectors - 0.05 * one.vectors)


def first_gradients(population, vectors, orders):
    """Of everyone's first step, by each order, at vectors (N, V)."""
    found = [torch.zeros_like(vectors) for _ in range(orders)]
    seen = set()

    def gradients(step, models):
        for order in range(orders):
            fresh = [row for row, n in enumerate(step.who) if (order, n) not in seen]
            seen.update((order, step.who[row]) for row in fresh)
            if fresh:
                found[order][step.who] = step.gradients(vectors[step.who], order=order)
        return [torch.zeros_like(models[0])]

    start = TrainStates(vectors, torch.zeros_like(vectors))
    local_steps(
        population,
        [start],
        gradients,
        epochs=1,
        seed=0,
        clock=0,
        optimizer=population.optimizer,
        orders=orders,
    )
    return found


def test_orders_are_independent(make_networks):
    population = make_networks(batch_size=8)
    vectors = population.start(0, common=True).vectors
    found = first_gradients(population, vectors, 3)
    assert not torch.allclose(found[0], found[1])
    assert not torch.allclose(found[1], found[2])
    full = make_networks()
    expected = full.gradients(full.start(0, common=True))
    for gradients in first_gradients(full, vectors, 2):
        torch.testing.assert_close(gradients, expected)


def test_who_diverged_is_named(make_networks):
    population = make_networks()

    good, bad = (population.start(0, common=True) for _ in range(2))

    def one_bad(step, models):
        wrong = torch.tensor([[float("nan") if n == 1 else 0.0] for n in step.who])
        return [torch.zeros_like(models[0]), models[1] * wrong]

    with pytest.raises(ModelError) as error:
        local_steps(
            population,
            [good, bad],
            one_bad,
            epochs=1,
            seed=0,
            clock=0,
            optimizer=population.optimizer,
        )
    assert error.value.where == "b"
