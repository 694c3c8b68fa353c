"""`securefair` for processes that join a project, without what a test would only wait for.

Who signs first looks every five seconds whether the others have; and a keystore that is made here
takes half a second, then and whenever it is opened (`session` makes those of the tests cheap).
"""

from pathlib import Path

IMPATIENT = str(Path(__file__))
"""To be started in the place of `securefair`."""

if __name__ == "__main__":
    from securefair.cli import joining, main
    from securefair.storage import KeystoreCost, keystore

    joining.LOOK_EVERY = 0.1
    keystore.DEFAULT_COST = KeystoreCost(log2_n=10)
    main()
