"""A whole collaboration as one call: data sets and models in, trained models and records out.

Place in the flow: the same settings, run and conclusions as of a configuration file (`experiment`),
for a caller who has data sets and modules in hand. `call` tells the story, `settings` checks
numbers, `hospitals` takes data sets, `models` takes modules, `controls` trains alone, `result` is
what comes back.
"""

from securefair.library.call import collaborate
from securefair.library.result import Result
from securefair.library.validating import validate

__all__ = ["Result", "collaborate", "validate"]
