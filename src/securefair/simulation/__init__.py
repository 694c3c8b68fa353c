"""Many participants in one process: a network in virtual time, with faults on request."""
