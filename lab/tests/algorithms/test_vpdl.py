import numpy as np

from securefair.model import OptimizerConfig
from securefair.worth import run
from securefair_lab.algorithms import Standalone, Vpdl

OTHERS = [[n != k for k in range(3)] for n in range(3)]


def test_everyone_asks_and_answers_everyone_in_every_round(make_population):
    for t, record in enumerate(run(Vpdl(), make_population(), 0, 4)):
        assert (record.algorithm, record.round, record.forced) == ("vpdl", t, False)
        assert record.asked == OTHERS
        assert record.answered == OTHERS
        assert record.reputation == [[1.0 if o else None for o in row] for row in OTHERS]
        assert record.alignment == [[None] * 3] * 3


def test_distillation_pulls_the_models_together(make_population):
    population = make_population(optimizer=OptimizerConfig(learning_rate=0.01))
    x = population.participants[0].test.features

    def disagreement(algorithm):
        state = algorithm.init(population, 0)
        for _ in range(20):
            state, _ = algorithm.round(state, population)
        logits = np.stack([state.train_states[n].model.logits(x) for n in population.names])
        return (logits[:, :, 1] - logits[:, :, 0]).std(axis=0).mean()

    assert disagreement(Vpdl()) < 0.5 * disagreement(Standalone())


def test_without_weight_on_distillation_it_is_standalone_training(make_population):
    population = make_population(lambda_0=0.0)
    together = list(run(Vpdl(), population, 0, 3))
    alone = list(run(Standalone(), population, 0, 3))
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a.cross_entropy, b.cross_entropy, atol=1e-12)
