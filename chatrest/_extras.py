"""The command that installs a missing extra: from the running checkout, if there is one.

The package index has another project of the name `chatrest`: no text names it.
"""

import shlex
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "chatrest-client"
_SOURCE: Final = Path(__file__).resolve().parent.parent


def missing_extra(subject: str, extra: str, source: Path = _SOURCE) -> str:
    """Return the sentence for `subject`, which needs an extra that is not installed.

    It says how to install that: with a command for a checkout in `source`, else in words.
    """
    command = f"install chatrest again with its extra {extra!r}"
    if (source / "pyproject.toml").is_file():
        command = f"pip install {shlex.quote(f'{source}[{extra}]')}"
    return f"{subject} needs the extra {extra!r}: {command}"
