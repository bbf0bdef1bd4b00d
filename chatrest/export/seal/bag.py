"""The form of a bag (BagIt, RFC 8493), in which archives keep files, and which their tools check.

`data/` is the export, `bagit.txt` the version of the form, `bag-info.txt` what it is, `manifest-sha256.txt`
the hash of each file in `data/`, and `tagmanifest-sha256.txt` that of each of these three. The root hash is
the SHA-256 of the last one: with it any changed byte of the bag can be found.

Names are written as they are. The RFC wants CR, LF and % percent-encoded; no name of an export has one of the
first two, and of % neither `sha256sum` nor `bagit.py` knows, which would look for another file then.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from ..._cloud.transfer import file_sha256
from ...errors import ChatRestError
from ..folder.manifest import put
from ..read.exports import BAG, DATA
from ..store.disk import Disk

INFO: Final = "bag-info.txt"
MANIFEST: Final = "manifest-sha256.txt"
TAG_MANIFEST: Final = "tagmanifest-sha256.txt"
_DECLARED: Final = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"


def write_tags(bag: Path, hashes: Mapping[str, str], info: Iterable[tuple[str, str]]) -> str:
    """Write the four files of a bag, and return the root hash. All is on the disk afterwards."""
    fields = "".join(f"{label}: {' '.join(value.split())}\n" for label, value in info)
    texts = {BAG: _DECLARED, INFO: fields, MANIFEST: _manifest(hashes)}
    tags = {name: _write(bag / name, text) for name, text in texts.items()}
    return _write(bag / TAG_MANIFEST, _manifest(tags))


def _manifest(hashes: Mapping[str, str]) -> str:
    return "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))


def _write(path: Path, text: str) -> str:
    data = text.encode()
    put(Disk(), path, data)
    return hashlib.sha256(data).hexdigest()


def info_of(bag: Path) -> dict[str, str]:
    """Return the fields of `bag-info.txt`; of a label that is there twice, the last value."""
    lines = (bag / INFO).read_text(encoding="utf-8").splitlines()
    return {label: value.strip() for label, _, value in (line.partition(":") for line in lines)}


def hashes_of(bag: Path, manifest: str = MANIFEST) -> dict[str, str]:
    """Return the hashes that a bag has for the files in `data/`, by their names below the bag."""
    path = bag / manifest
    hashes = dict[str, str]()
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        digest, _, name = line.partition(" ")
        name = name.lstrip(" *")
        if len(digest) != 64 or not name or name.startswith("/") or ".." in name.split("/"):
            raise ChatRestError(f"{path} is damaged: line {number}: expected a SHA-256 and a name in the bag")
        hashes[name] = digest
    return hashes


def faults_of(bag: Path, root: str | None, step: Callable[[int], object]) -> Iterator[tuple[str, str]]:
    """Yield the files of a bag that are not as they were sealed, with a sentence each."""
    try:
        actual = file_sha256(bag / TAG_MANIFEST)
        if root is not None and actual != root:
            yield TAG_MANIFEST, f"the root hash is {actual}, and {root} was expected"
        expected = hashes_of(bag, TAG_MANIFEST)
        if lack := {BAG, INFO, MANIFEST}.difference(expected):
            yield TAG_MANIFEST, f"it has no hash of {', '.join(sorted(lack))}"
        yield from _differing(bag, expected, step)
        hashes = hashes_of(bag)
    except (ChatRestError, OSError) as error:
        yield TAG_MANIFEST, f"the hashes of the bag cannot be read: {error}"
        return
    yield from _differing(bag, hashes, step)
    for path in sorted((bag / DATA).rglob("*")):
        name = path.relative_to(bag).as_posix()
        if name not in hashes and (path.is_symlink() or not path.is_dir()):
            yield name, "it was not there when the bag was sealed"


def _differing(
    bag: Path, hashes: Mapping[str, str], step: Callable[[int], object]
) -> Iterator[tuple[str, str]]:
    for name, expected in hashes.items():
        path = bag / name
        try:
            if path.is_symlink() or file_sha256(path, step) != expected:
                yield name, "its bytes are not those that were sealed"
        except FileNotFoundError:
            yield name, "it was sealed, and is not there"
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror or error})"
