"""Ways to carry parcels between sites; each holds no data, key or model."""
