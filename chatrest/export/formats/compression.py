"""The compression of blocks: each by itself, so that a file can be cut after any of them.

A file of such blocks, one after the other, is a valid `.gz` or `.zst` file.
"""

import gzip
import sys
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from ..._texts import missing_extra
from ...errors import RequestInvalidError
from ..plan.export_plan import Compress

_GZIP_LEVEL: Final = 3
"""Level 6 takes twice the time for four fifths of the size. For small files use zstd."""

_GZIP_WINDOW: Final = 31
_ZSTD: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""The module, which is loaded only where it is needed."""


class Compression(NamedTuple):
    suffix: str
    pack: Callable[[Any], bytes]
    decompressor: Callable[[], Any] | None = None
    """Makes what unpacks one block; None if blocks are not packed."""


def compression(compress: Compress) -> Compression:
    """Return the compression of that name; `RequestInvalidError` where what it needs is not installed."""
    match compress:
        case "none":
            return Compression("", lambda data: data)
        case "gzip":
            pack = partial(gzip.compress, compresslevel=_GZIP_LEVEL, mtime=0)
            return Compression(".gz", pack, partial(zlib.decompressobj, _GZIP_WINDOW))
        case "zstd":
            zstd = zstd_module("compress = 'zstd'")
            return Compression(".zst", zstd.compress, zstd.ZstdDecompressor)


def zstd_module(purpose: str) -> Any:
    """Return the module; `RequestInvalidError` that names the purpose where it is not installed."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise RequestInvalidError(missing_extra(purpose, "zstd")) from None
    return zstd


def pack_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of damaged content, that of zstd only where it is loaded."""
    zstd = (sys.modules[_ZSTD].ZstdError,) if _ZSTD in sys.modules else ()
    return (zlib.error, gzip.BadGzipFile, EOFError, *zstd, *others)
