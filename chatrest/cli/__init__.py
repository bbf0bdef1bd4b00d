"""The command `chatrest`. It needs the extra `cli` (click and rich); nothing else in the package does.

`root` holds the command group and its error handling. Each other module holds a subcommand or a few related
ones; `demo` is a package. All output goes through `streams`.
"""

import sys
from importlib.util import find_spec
from typing import NoReturn

from ..extras import missing_extra

__all__ = ["main"]

_NEEDED = ("click", "rich")


def main() -> NoReturn:
    """Run the command with `sys.argv`, and end the process with its exit status."""
    if any(find_spec(name) is None for name in _NEEDED):
        sys.exit(f"chatrest: {missing_extra('the command', 'cli')}")
    try:
        from .root import root
    except KeyboardInterrupt:  # loading is slow enough for a user to press Ctrl-C
        sys.exit(130)
    root.main()
