"""CYCle's experiments: how much is trained at each size, and who takes part.

The paper's sizes need a GPU. Reduced ones train small networks on frozen features of fewer images,
where alone, averaged and distilled training still differ as they do in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from securefair.model import OptimizerConfig
from securefair_lab.algorithms import NetworkPopulation, StepDecay
from securefair_lab.algorithms.schedule import EXPONENTIAL
from securefair_lab.data.division import divide
from securefair_lab.data.mislabelling import Mislabelling, mislabel
from securefair_lab.papers.cycle_data import FED_ISIC, partitioner, source
from securefair_lab.papers.experiment import Fields, Size

RESNET, CNN, UNSTATED = "ResNet18", "custom-cnn", None


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What one size trains.

    Args:
        networks: by the paper's name of a model.
        pretraining: epochs alone before the rounds. Methods that average models have none, and
            as many more rounds.
        rounds: of collaboration, one local epoch each.
        schedule: of the learning rate, by rounds after the epochs alone.
        federated_schedule: the same for methods without them.
        rewarded_schedule: of CFFL, RFFL and CGSV; their own by default.
    """

    networks: Mapping[str | None, str]
    optimizer: OptimizerConfig
    batch_size: int | None
    pretraining: int
    rounds: int
    schedule: StepDecay | None = None
    federated_schedule: StepDecay | None = None
    rewarded_schedule: StepDecay | None = EXPONENTIAL

    @property
    def averaged(self) -> Scale:
        """The same for models that are averaged from a common start (Alg. 3 has no line for
        training alone; App. G.3 has 100 rounds): all epochs are rounds."""
        return replace(
            self,
            pretraining=0,
            rounds=self.pretraining + self.rounds,
            schedule=self.federated_schedule,
        )


SCALES: Mapping[Size, Scale] = {
    "smoke": Scale(
        networks=dict.fromkeys((RESNET, CNN, UNSTATED), "logistic"),
        optimizer=OptimizerConfig(learning_rate=0.1),
        batch_size=None,
        pretraining=1,
        rounds=2,
    ),
    "cpu": Scale(
        networks=dict.fromkeys((RESNET, CNN, UNSTATED), "mlp-64"),
        # With a norm of 5 VPDL diverges where there is one teacher (N = 2), at lambda_0 = 50.
        optimizer=OptimizerConfig(learning_rate=0.05, weight_decay=1e-4, clip_norm=1.0),
        batch_size=64,
        pretraining=15,
        rounds=15,
        schedule=StepDecay(every=10, factor=0.1),
        federated_schedule=StepDecay(every=25, factor=0.1),
    ),
    # App. F, "the same training hyperparameters for all experiments". Not stated: how much
    # momentum, weight decay, and the network on Gossip-SGD. Alone that reaches 75.2 % of CIFAR-10
    # (Table 2, homogeneous, N = 5), the custom CNN 60.4 % and ResNet-18 83.4 % (Table 13).
    # Nothing is said of clipping either, but at this rate and lambda_0 = 50 the custom CNN diverges
    # in the second round without, and falls back below half its accuracy with a norm of 5.
    "paper": Scale(
        networks={RESNET: "resnet18", CNN: "cnn", UNSTATED: "resnet18"},
        optimizer=OptimizerConfig(learning_rate=0.1, weight_decay=5e-4, clip_norm=1.0),
        batch_size=128,
        pretraining=25,
        rounds=75,
        schedule=StepDecay(every=25, factor=0.1),
        federated_schedule=StepDecay(every=25, factor=0.1),
        rewarded_schedule=StepDecay(every=25, factor=0.1),
    ),
}

LESIONS: Mapping[Size, Scale] = {
    "smoke": SCALES["smoke"],
    # Chosen on a held-out fifth of the training images.
    "cpu": Scale(
        networks={UNSTATED: "mlp-64"},
        optimizer=OptimizerConfig(learning_rate=0.05, weight_decay=1e-4, clip_norm=5.0),
        batch_size=32,
        pretraining=15,
        rounds=15,
        federated_schedule=StepDecay(every=15, factor=0.1),
    ),
    "paper": replace(SCALES["paper"], batch_size=32),
}
"""Of Fed-ISIC2019, where App. F has smaller batches. Cross-entropy is not weighted: the paper uses
it "in all methods", where FLamby's benchmark has a weighted focal loss."""

TEMPERATURE = 5.0
"""Of the distillation loss, and of the cross-entropy that alignment compares it with: section 4.1
has sigma_T in both."""

DIFFERS = (
    "cpu: networks of one hidden layer of 64 units on frozen features of 6,000 images, 15 epochs "
    "alone and 15 rounds, or 30 rounds where models are averaged. paper: CIFAR-100 is not "
    "augmented."
)
ISIC_DIFFERS = (
    "Four of the six centres, at 64 x 64 pixels; accuracy on 200 test images of each class: the "
    "first 200 of a larger class, all of a smaller one, some of them once more than others. cpu: "
    "networks of one hidden layer of 64 units on features of EfficientNet-Lite0 (the extra "
    "vision), 30 rounds. paper: ResNet-18 from scratch, 100 rounds."
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The data and the training of contenders that are compared with each other.

    Args:
        flips: share of wrong labels that `flippers` train on.
        averaged: models are averaged from a common start; see `Scale.averaged`.
        held_out: share of the training images that nobody trains on: a server rates participants
            by them (CFFL), or settings are chosen by them.
        alignment_temperature: see `NetworkPopulation`.
        lambda_0: weight of the distillation loss; None: the paper's of this data set.
        learning_rate: None: that of the size.
    """

    size: Size
    data: Path | None
    dataset: str
    split: str
    n: int
    model: str | None = RESNET
    flippers: tuple[str, ...] = ()
    flips: float = 0.0
    averaged: bool = False
    held_out: float = 0.0
    alignment_temperature: float = TEMPERATURE
    lambda_0: float | None = None
    learning_rate: float | None = None

    @property
    def scale(self) -> Scale:
        """What is trained."""
        scale = (LESIONS if self.dataset == FED_ISIC else SCALES)[self.size]
        return scale.averaged if self.averaged else scale

    @property
    def fields(self) -> Fields:
        """What the paper's rows call it. Fed-ISIC2019 has fewer centres here."""
        return {"dataset": self.dataset, "split": self.split, "n": self.n, "model": self.model}

    def __call__(self, seed: int) -> NetworkPopulation:
        """The participants of one seed."""
        shared = replace(self, alignment_temperature=TEMPERATURE, lambda_0=None, learning_rate=None)
        population = _population(shared, seed)  # divided only once
        sgd = population.optimizer
        return replace(
            population,
            optimizer=replace(sgd, learning_rate=self.learning_rate or sgd.learning_rate),
            alignment_temperature=self.alignment_temperature,
            lambda_0=population.lambda_0 if self.lambda_0 is None else self.lambda_0,
        )


@lru_cache(maxsize=2)  # contenders of one setting come one after the other
def _population(setting: Setting, seed: int) -> NetworkPopulation:
    scale, smoke = setting.scale, setting.size == "smoke"
    natural = setting.split == "natural" and not smoke
    participants = divide(
        source(setting.dataset, setting.size, setting.data),
        None if natural else partitioner(setting.split, setting.n),
        seed=seed,
        test="shared" if smoke else "published",
        validation="shared" if setting.held_out else "none",
        validation_fraction=setting.held_out or 0.1,
    )
    if setting.split == "natural":  # "sorted in the decreasing order of their dataset size"
        participants.sort(key=lambda own: -len(own.train))
    wrong = {name: Mislabelling(flip_rate=setting.flips) for name in setting.flippers}
    return NetworkPopulation(
        participants=tuple(mislabel(participants, wrong, seed)),
        network=scale.networks[setting.model],
        optimizer=scale.optimizer,
        batch_size=scale.batch_size,
        train_scored=64,
        pretraining_epochs=scale.pretraining,
        schedule=scale.schedule,
        common_start=setting.averaged,
        temperature=TEMPERATURE,
        lambda_0=20.0 if setting.dataset == FED_ISIC else 50.0,
    )
