"""The command `chatrest`. It needs the extra `cli` (click and rich); nothing else in the package does.

| file                               | holds                                                                |
|------------------------------------|----------------------------------------------------------------------|
| `root`                             | the command group, its exit statuses and `completion`                |
| `records` `call`                   | commands that read and write; `call` is a folder: any operation      |
| `export`                           | a folder: `export`, and the commands that read an export             |
| `importing` `trial` `doctor`       | `import`; `guide`, `demo` and `emulator`; `doctor` and `limits`      |
| `command_options` `value_types`    | what commands take: option types, filters, values as texts           |
| `environment`                      | credentials and sessions; signals, and the command that continues    |
| `streams` `record_formats`         | all output: safe lines, the line of progress, text, CSV and JSON     |
"""

import sys
from importlib.util import find_spec
from typing import NoReturn

from .._texts import missing_extra

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
