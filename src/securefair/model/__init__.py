"""The models: heads that can be evaluated under encryption, their training, and distillation.

In the flow this package stands at both ends. A head is folded and quantised before it meets
ciphertexts; what the teachers release comes back here, is turned into logits and learned from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import open_door

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

# Only training needs torch.
__getattr__, __dir__, __all__ = open_door(__name__)
