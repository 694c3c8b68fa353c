"""Computations on ciphertexts: inference of a head, distillation terms, releases, plans."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.circuit.answer import Inputs as Inputs
    from securefair.circuit.bands import BandedMap as BandedMap
    from securefair.circuit.network import Chunk as Chunk
    from securefair.circuit.network import planned_peak as planned_peak
    from securefair.circuit.planner import ExchangePlan as ExchangePlan
    from securefair.circuit.planner import plan_exchange as plan_exchange
    from securefair.circuit.spec import ExchangeSpec as ExchangeSpec
    from securefair.circuit.spec import HeadBounds as HeadBounds

__getattr__, __dir__, __all__ = on_first_use(__name__)
