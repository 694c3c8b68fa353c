"""Values under encryption: parameters, keys, CipherTensors and what may be done with them."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.ckks.evaluator import Evaluator as Evaluator
    from securefair.ckks.evaluator import Released as Released
    from securefair.ckks.keys import StudentKeys as StudentKeys
    from securefair.ckks.tensor import CipherTensor as CipherTensor
    from securefair.ckks.threads import cores as cores
    from securefair.ckks.threads import one_for_blas as one_for_blas
    from securefair.ckks.threads import set_threads as set_threads

__getattr__, __dir__, __all__ = on_first_use(__name__)
