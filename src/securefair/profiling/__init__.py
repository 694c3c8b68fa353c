"""What an exchange will cost and what it costs: `securefair plan` and `securefair profile`."""
