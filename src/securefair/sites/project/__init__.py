"""What every site signs before the first round: cards of identities, the project, its terms."""
