"""The kind and size of a picture, read from the first bytes of its file: so a page keeps its place for it.

A file of its own because it knows four formats of files, and nothing of messages.
"""

from io import SEEK_END
from pathlib import Path
from struct import error, unpack, unpack_from
from typing import BinaryIO, Final, NamedTuple

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers of JPEG that begin a frame."""
_TAIL: Final = 64
_ENDS: Final = {"png": b"IEND", "jpg": b"\xff\xd9", "gif": b";"}
_MOST_MARKERS: Final = 1_000


class Picture(NamedTuple):
    extension: str
    """By its content, whatever its name says; empty of a file that is no picture."""
    width: int
    height: int
    bytes: int
    is_whole: bool
    """False where the end of its format is not there: browsers show a sign of damage instead."""


def picture_of(path: Path) -> Picture:
    """Return what a PNG, GIF, JPEG, WebP or BMP says of itself, in pixels; zeros for any other file."""
    try:
        with path.open("rb") as file:
            extension, width, height = _read(file)
            size = file.seek(0, SEEK_END)
            file.seek(max(0, size - _TAIL))
            is_whole = _ENDS.get(extension, b"") in file.read()
            is_picture = width > 0 and height > 0
            return Picture(extension, width, height, size, is_whole) if is_picture else _NONE
    except (OSError, error):
        return _NONE


_NONE: Final = Picture("", 0, 0, 0, False)


def _read(file: BinaryIO) -> tuple[str, int, int]:
    head = file.read(30)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return ("png", *unpack_from(">II", head, 16))
    if head.startswith((b"GIF87a", b"GIF89a")):
        return ("gif", *unpack_from("<HH", head, 6))
    if head.startswith(b"BM"):
        width, height = unpack_from("<ii", head, 18)
        return "bmp", abs(width), abs(height)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ("webp", *_webp(head))
    if head.startswith(b"\xff\xd8"):
        file.seek(2)
        return ("jpg", *_jpeg(file))
    return "", 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = unpack_from("<HH", head, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(file: BinaryIO) -> tuple[int, int]:
    for _ in range(_MOST_MARKERS):
        mark, marker, length = unpack(">BBH", file.read(4))
        if mark != 0xFF or length < 2:
            break
        if marker in _FRAMES:
            height, width = unpack(">xHH", file.read(5))
            return width, height
        file.seek(length - 2, 1)
    return 0, 0
