"""The command that installs a missing extra: from the running checkout, if there is one.

The package index has another project of the name `chatrest`: no text names it.
"""

import shlex
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "chatrest-client"
_SOURCE: Final = Path(__file__).resolve().parent.parent


def install_command(*extras: str, source: Path = _SOURCE) -> str:
    """Return how to install chatrest with `extras`: a command for a checkout in `source`, else a sentence."""
    names = ",".join(extras)
    if (source / "pyproject.toml").is_file():
        return f"pip install {shlex.quote(f'{source}[{names}]')}"
    return f"install chatrest again with its extra{'s' if len(extras) > 1 else ''} {names!r}"


def missing_extra(subject: str, extra: str) -> str:
    """Return the sentence for `subject`, which needs an extra that is not installed."""
    return f"{subject} needs the extra {extra!r}: {install_command(extra)}"
