"""`python -m securefair`, for wherever the command is not on the path."""

from securefair.cli import main

if __name__ == "__main__":
    main()
