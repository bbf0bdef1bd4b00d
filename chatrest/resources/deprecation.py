"""The warning of a call of a deprecated operation."""

import sys
import warnings
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0] + "."


def warn_deprecated(name: str, replacement: str) -> None:
    """Warn that the operation `name` is deprecated, in the line of the caller that is outside of chatrest.

    `replacement` is the operation to use in its place, "" where none is known. The filters of `warnings`
    decide what is shown; by default a line warns once.
    """
    hint = f": use {replacement}" if replacement else ", and no replacement is known"
    warnings.warn(f"{name} is deprecated{hint}", DeprecationWarning, stacklevel=_caller_level())


def _caller_level() -> int:
    """Return the stack level of the first frame outside of chatrest, as `warn_deprecated` counts it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
