"""The models: heads that can be evaluated under encryption, their training, and distillation.

In the flow this package stands at both ends. A head is folded and quantised before it meets
ciphertexts; what the teachers release comes back here, is turned into logits and learned from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.folded import FoldedNetwork, StageRange, activation_ranges
    from securefair.model.gradients import flat_gradient
    from securefair.model.heads import Head, HeadKind, LinearHead, QuadraticHead, build_head
    from securefair.model.linear_maps import DenseMap
    from securefair.model.projection import block_signs, public_indices, public_rows, student_basis
    from securefair.model.quantize import (
        LayerNorms,
        QuantizationReport,
        QuantizedNetwork,
        rounding_report,
    )
    from securefair.model.reconstruction import Reconstruction, Reconstructor, reconstruct
    from securefair.model.seeds import derived_seed
    from securefair.model.training import (
        Evaluation,
        OptimizerConfig,
        TeacherAnswer,
        TrainState,
        descend,
        distil_steps,
        evaluate,
        train_epochs,
    )

__all__ = [
    "DenseMap",
    "Evaluation",
    "FoldedNetwork",
    "Head",
    "HeadKind",
    "LayerNorms",
    "LinearHead",
    "OptimizerConfig",
    "QuadraticHead",
    "QuantizationReport",
    "QuantizedNetwork",
    "Reconstruction",
    "Reconstructor",
    "StageRange",
    "TeacherAnswer",
    "TrainState",
    "activation_ranges",
    "block_signs",
    "build_head",
    "derived_seed",
    "descend",
    "distil_steps",
    "evaluate",
    "flat_gradient",
    "public_indices",
    "public_rows",
    "rounding_report",
    "reconstruct",
    "student_basis",
    "train_epochs",
]

_HOME = {
    "DenseMap": "linear_maps",
    "Evaluation": "training",
    "FoldedNetwork": "folded",
    "Head": "heads",
    "HeadKind": "heads",
    "LayerNorms": "quantize",
    "LinearHead": "heads",
    "OptimizerConfig": "training",
    "QuadraticHead": "heads",
    "QuantizationReport": "quantize",
    "QuantizedNetwork": "quantize",
    "Reconstruction": "reconstruction",
    "Reconstructor": "reconstruction",
    "StageRange": "folded",
    "TeacherAnswer": "training",
    "TrainState": "training",
    "activation_ranges": "folded",
    "block_signs": "projection",
    "build_head": "heads",
    "derived_seed": "seeds",
    "descend": "training",
    "distil_steps": "training",
    "evaluate": "training",
    "flat_gradient": "gradients",
    "public_indices": "projection",
    "public_rows": "projection",
    "rounding_report": "quantize",
    "reconstruct": "reconstruction",
    "student_basis": "projection",
    "train_epochs": "training",
}

# Only training needs torch.
__getattr__, __dir__ = on_first_use(__name__, _HOME)
