"""All sites of a collaboration in one process, over a courier in memory and in virtual time.

post      what replaces envelopes: frames, numbered and kept until they were taken
town      the sites, their stores and the courier between them
run       rounds, and the records that whoever sees everybody makes of them
starting  a kind of collaboration and everyone's data -> a run
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.sites.simulation.run import SimulatedRun as SimulatedRun
    from securefair.sites.simulation.starting import simulated as simulated
    from securefair.sites.simulation.town import Town as Town

__getattr__, __dir__, __all__ = on_first_use(__name__)
