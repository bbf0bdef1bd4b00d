"""The text to type to run this command again, and its version."""

import shlex
import sys
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import Final

NAME: Final = "chatrest"


def version() -> str:
    """Return the version of the package."""
    return str(import_module(__name__.partition(".")[0]).__version__)


def invocation() -> str:
    """Return the shell text that runs this command: `chatrest` if that is on the PATH, else its path."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    on_path = which(NAME)
    if on_path is not None and called.exists() and called.samefile(on_path):
        return NAME
    return shlex.quote(str(called))
