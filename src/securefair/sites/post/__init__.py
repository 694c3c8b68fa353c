"""What passes between two sites: sealed envelopes in ordered streams, and the couriers' door."""
