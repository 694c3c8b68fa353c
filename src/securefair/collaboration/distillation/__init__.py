"""Encrypted distillation: VPDL and CYCle."""
