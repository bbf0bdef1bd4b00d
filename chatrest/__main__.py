"""`python -m chatrest`: the command `chatrest`."""

from ._cli import main

if __name__ == "__main__":
    main()
