"""Samples as products of their features, in coefficients: no evaluation key, a short modulus."""
