"""What an exchange will cost and what it costs: `securefair plan` and `securefair check`."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.profiling.cost_model import FORMAT as FORMAT
    from securefair.profiling.cost_model import OPTIONAL as OPTIONAL
    from securefair.profiling.cost_model import QUANTITIES as QUANTITIES
    from securefair.profiling.cost_model import CostModel as CostModel
    from securefair.profiling.cost_model import counts as counts
    from securefair.profiling.costs import Cost as Cost
    from securefair.profiling.costs import cost as cost
    from securefair.profiling.costs import total as total
    from securefair.profiling.estimate import Estimate as Estimate
    from securefair.profiling.observe import observed as observed
    from securefair.profiling.tables import ANSWER_STAGES as ANSWER_STAGES
    from securefair.profiling.tables import plain_table as plain_table
    from securefair.profiling.tables import rows_table as rows_table
    from securefair.profiling.tracing import LAYERS as LAYERS
    from securefair.profiling.tracing import WITHIN_LAYERS as WITHIN_LAYERS
    from securefair.profiling.tracing import stage_name as stage_name
    from securefair.profiling.tracing import trace as trace
    from securefair.profiling.transfer_prices import TransferPoint as TransferPoint
    from securefair.profiling.transfer_prices import TransferProfile as TransferProfile

__getattr__, __dir__, __all__ = on_first_use(__name__)
