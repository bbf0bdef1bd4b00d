"""Texts of numbers, times and names, for lines that a person reads; hints at misspelt names and at extras.

The package index has another project of the name `chatrest`, so every text about installing names
`DISTRIBUTION`.
"""

import json
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from .errors import RequestInvalidError

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400
_NAMES_SHOWN: Final = 20  # in one line


def duration(seconds: float) -> str:
    """Return a measured time: `4.2 s`, `3:12`, `1:02:03`, `2 d 01:02:03`."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    days, rest = divmod(round(seconds), _DAY)
    hours, minutes = divmod(rest // _MINUTE, _MINUTE)
    if days:
        return f"{days:,} d {hours:02}:{minutes:02}:{rest % _MINUTE:02}"
    return f"{hours}:{minutes:02}:{rest % _MINUTE:02}" if hours else f"{minutes}:{rest % _MINUTE:02}"


def about(seconds: float) -> str:
    """Return an estimated time, rounded: `about 40 s`, `about 3 h 20 min`."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 1.5 * _MINUTE:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 1.5 * _HOUR:
        return f"about {round(seconds / _MINUTE)} min"
    if seconds < _DAY:
        hours, minutes = divmod(10 * round(seconds / 600), _MINUTE)
        return f"about {hours} h {minutes} min" if minutes else f"about {hours} h"
    days, hours = divmod(round(seconds / _HOUR), 24)
    return f"about {days:,} d {hours} h" if hours else f"about {days:,} d"


def size(count: int) -> str:
    """Return a number of bytes: `620 bytes`, `4.2 kB`, `12.3 MB`, `1.25 GB`."""
    if count >= 1e9:
        return f"{count / 1e9:,.2f} GB"
    if count >= 1e6:
        return f"{count / 1e6:,.1f} MB"
    return f"{count / 1e3:,.1f} kB" if count >= 1e3 else plural(count, "byte")


def plural(count: int, noun: str) -> str:
    """Return a number and its noun: `1 source`, `2 sources`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def name_list(names: Sequence[str], most: int = _NAMES_SHOWN) -> str:
    """Return the first `most` names and the number of the others: `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint at the name that was probably meant: ` (did you mean 'uid'?)`; "" if no name is near."""
    from difflib import get_close_matches  # 6 ms, and only a mistake needs it

    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


DISTRIBUTION: Final = "chatrest-client"
_SOURCE: Final = Path(__file__).resolve().parent.parent


class MissingExtraError(RequestInvalidError, ModuleNotFoundError):  # type: ignore[misc]  # `name` is of both
    """The error of importing a package that needs an extra; it is also an `ImportError`."""


def missing_extra(subject: str, extra: str) -> str:
    """Return the text of an error for an extra that is not installed, with the command that installs it."""
    return f"{subject} needs the extra {extra!r}: {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return the command that installs an extra into this environment, which may not be the active one."""
    pip = "pip"
    if sys.prefix not in (sys.base_prefix, os.environ.get("VIRTUAL_ENV")):
        python = Path(sys.executable)
        with suppress(ValueError, OSError):  # it is not below the current folder, or that is gone
            python = python.relative_to(Path.cwd())
        pip = f"{shlex.quote(str(python))} -m pip"
    return f"{pip} install {shlex.quote(f'{_checkout() or DISTRIBUTION}[{extra}]')}"


def _checkout() -> Path | None:
    """Return the checkout that this package is in, or was installed from; None if it is from an index."""
    folders = (_SOURCE, _installed_from())
    return next((each for each in folders if each is not None and (each / "pyproject.toml").is_file()), None)


def _installed_from() -> Path | None:
    """Return the folder that pip was given, as pip notes it (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # only a missing extra needs it
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    with suppress(PackageNotFoundError, ValueError):
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        if origin.get("url", "").startswith("file:"):
            return Path(url2pathname(urlsplit(origin["url"]).path))
    return None
