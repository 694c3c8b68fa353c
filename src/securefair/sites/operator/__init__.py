"""What an operator does beside the rounds: projects, status page, leaving, upgrades, relays."""
