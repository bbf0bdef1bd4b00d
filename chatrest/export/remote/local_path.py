"""The folder of an export as a path of this machine."""

import os
import re
from pathlib import Path
from typing import Final

from ..._core.requests.arguments import check
from ..._secrets import shown
from ...errors import RequestInvalidError

_SCHEME: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+):/"
)  # `Path` makes one slash of two; a drive has one letter


def local_path(out: object, name: str = "out") -> Path:
    """Return the path of an export's folder; `name` is the argument's.

    Raises `RequestInvalidError` for what is no path, and for a URL such as `s3://bucket/chat`: as a path it
    would be a local folder called `s3:`.
    """
    check(isinstance(out, str | os.PathLike), name, out, "the path of a folder, as a text or a Path")
    assert isinstance(out, str | os.PathLike)
    path = os.fspath(out)
    check(isinstance(path, str) and path != "" and "\0" not in path, name, out, "the path of a folder")
    if match := _SCHEME.match(path):
        raise RequestInvalidError(
            f"{name} = {shown(path)}: {match[1]}:// is not a local folder; for an object store, "
            "expected its address as a text: s3://bucket/prefix, gs://… or az://…"
        )
    return Path(path)
