"""`python -m chatrest`: the command `chatrest`."""

from .cli import main

if __name__ == "__main__":
    main()
