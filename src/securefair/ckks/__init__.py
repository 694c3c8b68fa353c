"""Values under encryption: parameters, keys, CipherTensors and what may be done with them."""
