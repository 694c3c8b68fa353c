"""What an exchange will cost and what it costs: `securefair plan` and `securefair profile`."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.profiling.cost_model import FORMAT as FORMAT
    from securefair.profiling.cost_model import OPTIONAL as OPTIONAL
    from securefair.profiling.cost_model import QUANTITIES as QUANTITIES
    from securefair.profiling.cost_model import CostModel as CostModel
    from securefair.profiling.cost_model import counts as counts
    from securefair.profiling.dry_exchange import ANSWER as ANSWER
    from securefair.profiling.dry_exchange import IMPORT as IMPORT
    from securefair.profiling.dry_exchange import RECEIVE as RECEIVE
    from securefair.profiling.dry_exchange import synthetic as synthetic
    from securefair.profiling.estimate import Estimate as Estimate
    from securefair.profiling.head import describe_machine as describe_machine
    from securefair.profiling.head_record import Machine as Machine
    from securefair.profiling.measure import Clock as Clock
    from securefair.profiling.measure import Stopwatch as Stopwatch
    from securefair.profiling.measure import medians as medians
    from securefair.profiling.measure import peak_memory as peak_memory
    from securefair.profiling.measure import reset_peak_memory as reset_peak_memory
    from securefair.profiling.transfer_prices import TransferPoint as TransferPoint
    from securefair.profiling.transfer_prices import TransferProfile as TransferProfile

__getattr__, __dir__, __all__ = on_first_use(__name__)
