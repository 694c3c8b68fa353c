import pytest
import torch

from securefair.algorithms.local_steps import check_trained, local_steps
from securefair.errors import ModelError
from securefair.model.stacked_training import sgd_step


@pytest.mark.parametrize("network", ["logistic", "small-cnn"])
def test_steps_along_the_gradient_are_what_train_does(make_cohort, make_images, network):
    more = {}
    if network == "small-cnn":
        from dataclasses import replace

        def images(part):
            return replace(part, features=part.features.reshape(-1, 1, 8, 8))

        more["participants"] = tuple(
            replace(p, train=images(p.train), test=images(p.test)) for p in make_images()
        )
    cohort = make_cohort(network=network, batch_size=8, **more)
    learners = cohort.start(0, common=True)
    expected = cohort.train(learners, epochs=2, seed=3, clock=4)
    vectors, momentum = learners.vectors.clone(), learners.momentum.clone()
    seen = []
    for step in local_steps(cohort, epochs=2, seed=3, clock=4):
        now, memory = vectors[step.who], momentum[step.who]
        trained = now[:, : cohort.stacked.trained]
        sgd_step(trained, memory, step.gradients(now), cohort.optimizer, None)
        vectors[step.who], momentum[step.who] = now, memory
        seen.append(len(step.who))
    torch.testing.assert_close(vectors, expected.vectors)
    assert seen == sorted(seen, reverse=True)


def test_orders_are_independent(make_cohort):
    cohort = make_cohort(batch_size=8)
    step = next(local_steps(cohort, epochs=1, seed=0, clock=0, orders=3))
    vectors = cohort.start(0, common=True).vectors
    found = [step.gradients(vectors, order=order) for order in range(3)]
    assert not torch.allclose(found[0], found[1])
    assert not torch.allclose(found[1], found[2])
    full = make_cohort()
    step = next(local_steps(full, epochs=1, seed=0, clock=0, orders=2))
    expected = full.gradients(full.start(0, common=True))
    for order in range(2):
        torch.testing.assert_close(step.gradients(vectors, order=order), expected)


def test_who_diverged_is_named(make_cohort):
    cohort = make_cohort()
    vectors = torch.zeros(3, 2)
    check_trained(cohort, vectors)
    wrong = vectors.clone()
    wrong[1, 0] = torch.nan
    with pytest.raises(ModelError) as error:
        check_trained(cohort, vectors, wrong)
    assert error.value.where == "b"
