"""Real site processes on one machine, killed and disturbed, before hospitals do it in earnest."""
