"""The models: heads that can be evaluated under encryption, their training, and distillation.

In the flow this package stands at both ends. A head is folded and quantised before it meets
ciphertexts; what the teachers release comes back here, is turned into logits and learned from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.architectures import architecture as architecture
    from securefair.model.balance import balance_by_weights as balance_by_weights
    from securefair.model.batches import Batches as Batches
    from securefair.model.batches import StackedSamples as StackedSamples
    from securefair.model.batches import draw_batches as draw_batches
    from securefair.model.extractor import efficientnet_lite0 as efficientnet_lite0
    from securefair.model.folded import FoldedNetwork as FoldedNetwork
    from securefair.model.folded import StageRange as StageRange
    from securefair.model.folded import activation_ranges as activation_ranges
    from securefair.model.gradients import flat_gradient as flat_gradient
    from securefair.model.heads import Head as Head
    from securefair.model.heads import LinearHead as LinearHead
    from securefair.model.heads import QuadraticHead as QuadraticHead
    from securefair.model.heads import build_head as build_head
    from securefair.model.linear_maps import DenseMap as DenseMap
    from securefair.model.linear_maps import Shape as Shape
    from securefair.model.losses import approximate_kl as approximate_kl
    from securefair.model.optimizer import OptimizerConfig as OptimizerConfig
    from securefair.model.plain_heads import HeadKind as HeadKind
    from securefair.model.plausibility import Clip as Clip
    from securefair.model.prevalence import Prevalence as Prevalence
    from securefair.model.prevalence import own_prevalence as own_prevalence
    from securefair.model.projection import block_signs as block_signs
    from securefair.model.projection import public_indices as public_indices
    from securefair.model.projection import public_rows as public_rows
    from securefair.model.projection import student_basis as student_basis
    from securefair.model.quadratic import Quadratic as Quadratic
    from securefair.model.quantize import LayerNorms as LayerNorms
    from securefair.model.quantize import QuantizationReport as QuantizationReport
    from securefair.model.quantize import QuantizedNetwork as QuantizedNetwork
    from securefair.model.quantize import quantize_at as quantize_at
    from securefair.model.quantize import rounding_report as rounding_report
    from securefair.model.reconstruction import Reconstructor as Reconstructor
    from securefair.model.seeds import derive_seed as derive_seed
    from securefair.model.stacked import Slot as Slot
    from securefair.model.stacked import Stacked as Stacked
    from securefair.model.stacked_training import Distillation as Distillation
    from securefair.model.stacked_training import Proximal as Proximal
    from securefair.model.stacked_training import TrainStates as TrainStates
    from securefair.model.stacked_training import all_logits as all_logits
    from securefair.model.stacked_training import loss_gradients as loss_gradients
    from securefair.model.stacked_training import mean_losses as mean_losses
    from securefair.model.stacked_training import sgd_step as sgd_step
    from securefair.model.stacked_training import train as train
    from securefair.model.stored import Function as Function
    from securefair.model.stored import NamedNetwork as NamedNetwork
    from securefair.model.training import Evaluation as Evaluation
    from securefair.model.training import TeacherAnswer as TeacherAnswer
    from securefair.model.training import TrainState as TrainState
    from securefair.model.training import descend as descend
    from securefair.model.training import distil_steps as distil_steps
    from securefair.model.training import evaluate as evaluate
    from securefair.model.training import train_epochs as train_epochs
    from securefair.model.training import training_loss as training_loss
    from securefair.model.training import weighed_cross_entropy as weighed_cross_entropy


# Only training needs torch.
__getattr__, __dir__, __all__ = on_first_use(__name__)
