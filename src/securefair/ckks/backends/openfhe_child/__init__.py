"""The child process of the openfhe backend: it alone imports openfhe and holds keys.

OpenFHE's wheels fit few interpreters, and a damaged ciphertext can abort the process that reads
it. So this package runs on its own under whatever interpreter can import openfhe (3.10 or newer),
outside securefair, and needs nothing but the standard library, numpy and openfhe. The parent
imports the frames from here.
"""
