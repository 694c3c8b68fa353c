"""Experiments of ours beside CYCle's: how much lambda_0 matters, and other distillation.

Is CYCle's gain above VPDL's? It depends on lambda_0.

CYCle weighs teachers by reputations and hears only some of them, so that at one lambda_0 it distils
less than VPDL. Which of the two gains more at one lambda_0 then says whether that is too large for
VPDL. So both are run over a range of them, and compared at equal ones and each at its best.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from securefair_lab.papers.cycle_data import MNIST
from securefair_lab.papers.cycle_divisions import shown
from securefair_lab.papers.cycle_methods import (
    ALONE,
    CYCLE,
    CYCLE_PLAIN,
    FEDMD,
    ONE_SHOT,
    TUNED_ALONE,
    VPDL,
    contenders,
)
from securefair_lab.papers.cycle_settings import Setting
from securefair_lab.papers.experiment import Contender, Experiment, Size
from securefair_lab.papers.figures import plane
from securefair_lab.papers.figures.lambdas import gains_by_lambda
from securefair_lab.papers.lambda_choice import LAMBDA_CLAIMS, LAMBDAS, PRINTED
from securefair_lab.papers.measures import collaboration, collaboration_and_held_out

SPLITS = (
    "homogeneous",
    "dirichlet(0.5)",
    "dirichlet(2.0)",
    "dirichlet(5.0)",
    "imbalanced(0.8,1)",
    "imbalanced(0.35,2)",
    "imbalanced(0.6,1)",
)
BASELINE_SPLITS = ("homogeneous", "dirichlet(0.5)", "imbalanced(0.8,1)")


def _block(size: Size, data: Path | None) -> list[Contender]:
    """In every split everyone alone, then each method at each lambda_0."""
    result = []
    for split in shown(size, SPLITS):
        alone = Setting(
            size=size, data=data, dataset=MNIST, split=split, n=5, model=None, held_out=0.25
        )
        result += contenders([alone], [ALONE])
        for lambda_0 in LAMBDAS[:2] if size == "smoke" else LAMBDAS:
            methods = [
                replace(method, extra={"lambda_0": lambda_0})
                for method in (VPDL, CYCLE, CYCLE_PLAIN)
            ]
            result += contenders([replace(alone, lambda_0=lambda_0)], methods)
    return result


def _baselines(size: Size, data: Path | None) -> list[Contender]:
    """The paper's methods at its lambda_0, those that distil on public images, and tuned alone.

    What is held out is public here. The runs of the others are those of `cycle-lambda`.
    """
    result = []
    for split in shown(size, BASELINE_SPLITS):
        alone = Setting(
            size=size, data=data, dataset=MNIST, split=split, n=5, model=None, held_out=0.25
        )
        result += contenders([alone], [ALONE, TUNED_ALONE, FEDMD, ONE_SHOT])
        methods = [
            replace(method, extra={"lambda_0": PRINTED}) for method in (VPDL, CYCLE, CYCLE_PLAIN)
        ]
        result += contenders([replace(alone, lambda_0=PRINTED)], methods)
    return result


CYCLE_LAMBDA = Experiment(
    name="cycle-lambda",
    paper="cycle",
    item="beyond the paper: lambda_0",
    shows="CYCle against VPDL over a range of lambda_0, and each at its best",
    needs=("mnist.npz",),
    unit="percent and percentage points",
    reference=None,
    contenders=_block,
    metrics=collaboration_and_held_out,
    claims=LAMBDA_CLAIMS,
    draw=gains_by_lambda,
    differs="The paper has no such experiment. cpu: networks of one hidden layer of 64 units on "
    "3,000 images of MNIST, 15 epochs alone and 15 rounds; 1,000 held-out images choose lambda_0.",
    sizes=("smoke", "cpu"),
)


CYCLE_BASELINES = Experiment(
    name="cycle-baselines",
    paper="cycle",
    item="beyond the paper: FedMD, one-shot distillation, tuned alone",
    shows="CYCle beside distillation on public images and beside training alone, tuned",
    needs=("mnist.npz",),
    unit="percent and percentage points",
    reference=None,
    contenders=_baselines,
    metrics=collaboration,
    draw=plane("MCG", "CGS", "right and low"),
    differs="The paper has no such experiment. FedMD and one-shot distillation use 1,000 images "
    "without labels that the other methods do not have. cpu: as cycle-lambda.",
    sizes=("smoke", "cpu"),
)
