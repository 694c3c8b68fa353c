"""Computations on ciphertexts: inference of a head, distillation terms, releases, plans."""
