"""The command `chatrest`. It needs the extra `cli` (click and rich); nothing else in the package does.

`root` is the command and what its failures look like; a file a subcommand, or a few that belong together;
`demo` is a package of its own. All that is written goes through `streams`.
"""

import sys
from importlib.util import find_spec
from typing import NoReturn

__all__ = ["main"]

_NEEDED = ("click", "rich")


def main() -> NoReturn:
    """Runs the command with `sys.argv`, and ends the process with its exit status."""
    if any(find_spec(name) is None for name in _NEEDED):
        sys.exit("chatrest: the command needs the extra: pip install 'chatrest[cli]'")
    try:
        from .root import root
    except KeyboardInterrupt:  # loading takes long enough for one
        sys.exit(130)
    root.main()
