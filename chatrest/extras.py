"""The name of the distribution, and the one sentence about an extra that is not installed.

The package index has another project of the name `chatrest`: what tells a user to install something names
the distribution, never the package.
"""

from typing import Final

DISTRIBUTION: Final = "chatrest-client"


def install_command(*extras: str) -> str:
    """Return the shell text that installs the distribution with `extras`."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"


def missing_extra(subject: str, extra: str) -> str:
    """Return the sentence for `subject`, which needs an extra that is not installed."""
    return f"{subject} needs the extra {extra!r}: {install_command(extra)}"
