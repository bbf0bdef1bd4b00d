"""The size of a picture, read from the first bytes of its file: so a page keeps its place for it.

A file of its own because it knows four formats of files, and nothing of messages.
"""

from pathlib import Path
from struct import error, unpack, unpack_from
from typing import BinaryIO, Final

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers of JPEG that begin a frame."""
_MOST_MARKERS: Final = 1_000


def picture_size(path: Path) -> tuple[int, int]:
    """Return the width and height of a PNG, GIF, JPEG, WebP or BMP, in pixels; zeros for any other file."""
    try:
        with path.open("rb") as file:
            return _size(file)
    except (OSError, error):
        return 0, 0


def _size(file: BinaryIO) -> tuple[int, int]:
    head = file.read(30)
    width = height = 0
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = unpack_from(">II", head, 16)
    elif head.startswith((b"GIF87a", b"GIF89a")):
        width, height = unpack_from("<HH", head, 6)
    elif head.startswith(b"BM"):
        width, height = unpack_from("<ii", head, 18)
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        width, height = _webp(head)
    elif head.startswith(b"\xff\xd8"):
        file.seek(2)
        width, height = _jpeg(file)
    return abs(width), abs(height)


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
