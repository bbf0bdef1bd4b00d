"""How this command was called, and which version it is."""

import shlex
import sys
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import Final

NAME: Final = "chatrest"


def version() -> str:
    """The package's own."""
    return str(import_module(__name__.partition(".")[0]).__version__)


def typed() -> str:
    """What to type to call it again: its name where that leads here, else the way that was taken."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    found = which(NAME)
    if found is not None and called.exists() and called.samefile(found):
        return NAME
    return shlex.quote(str(called))
