"""All sites of a collaboration in one process, over a courier in memory and in virtual time.

post      what replaces envelopes: frames, numbered and kept until they were taken
town      the sites, their stores and the courier between them
run       rounds, and the records that whoever sees everybody makes of them
starting  a kind of collaboration and everyone's data -> a run
"""
