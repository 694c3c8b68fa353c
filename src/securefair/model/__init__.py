"""The models: heads that can be evaluated under encryption, their training, and distillation.

In the flow this package stands at both ends. A head is folded and quantised before it meets
ciphertexts; what the teachers release comes back here, is turned into logits and learned from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.folded import (
        FoldedNetwork as FoldedNetwork,
    )
    from securefair.model.folded import (
        StageRange as StageRange,
    )
    from securefair.model.folded import (
        activation_ranges as activation_ranges,
    )
    from securefair.model.gradients import flat_gradient as flat_gradient
    from securefair.model.heads import (
        Head as Head,
    )
    from securefair.model.heads import (
        HeadKind as HeadKind,
    )
    from securefair.model.heads import (
        LinearHead as LinearHead,
    )
    from securefair.model.heads import (
        QuadraticHead as QuadraticHead,
    )
    from securefair.model.heads import (
        build_head as build_head,
    )
    from securefair.model.linear_maps import DenseMap as DenseMap
    from securefair.model.projection import (
        block_signs as block_signs,
    )
    from securefair.model.projection import (
        public_indices as public_indices,
    )
    from securefair.model.projection import (
        public_rows as public_rows,
    )
    from securefair.model.projection import (
        student_basis as student_basis,
    )
    from securefair.model.quantize import (
        LayerNorms as LayerNorms,
    )
    from securefair.model.quantize import (
        QuantizationReport as QuantizationReport,
    )
    from securefair.model.quantize import (
        QuantizedNetwork as QuantizedNetwork,
    )
    from securefair.model.quantize import (
        rounding_report as rounding_report,
    )
    from securefair.model.reconstruction import (
        Reconstruction as Reconstruction,
    )
    from securefair.model.reconstruction import (
        Reconstructor as Reconstructor,
    )
    from securefair.model.reconstruction import (
        reconstruct as reconstruct,
    )
    from securefair.model.seeds import derived_seed as derived_seed
    from securefair.model.training import (
        Evaluation as Evaluation,
    )
    from securefair.model.training import (
        OptimizerConfig as OptimizerConfig,
    )
    from securefair.model.training import (
        TeacherAnswer as TeacherAnswer,
    )
    from securefair.model.training import (
        TrainState as TrainState,
    )
    from securefair.model.training import (
        descend as descend,
    )
    from securefair.model.training import (
        distil_steps as distil_steps,
    )
    from securefair.model.training import (
        evaluate as evaluate,
    )
    from securefair.model.training import (
        train_epochs as train_epochs,
    )


# Only training needs torch.
__getattr__, __dir__, __all__ = on_first_use(__name__)
