"""Ways to carry parcels between sites; each holds no data, key or model.

A courier is a file here and a line of the register.
"""
