"""`python -m securefair.cli`, where the program is not installed."""

from securefair.cli import main

if __name__ == "__main__":
    main()
