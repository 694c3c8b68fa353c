"""A configuration, run as `securefair run` does."""

from securefair.collaboration.resolved import ResolvedRun
from securefair.run.execute import run_resolved


def run_experiment(config, progress, **options):
    """Resolve and run it; see `run_resolved`."""
    return run_resolved(ResolvedRun.of(config), progress, **options)
