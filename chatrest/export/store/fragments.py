"""Fragments: sealed files that other processes, such as the workers of a cluster, have made for a store.

A process that reads for an export writes rows into files of the export's own format, syncs them, and leaves
them in `spool/`, or in the export's object store, under names that are theirs for ever. Nothing of them
counts before the store has adopted them:

| a fragment                      | what is done                                                   |
|---------------------------------|----------------------------------------------------------------|
| all of its ids are new          | it becomes a file by a rename, or where it is, in object store |
| some are, or its format is not  | its new rows are read, and written as those of a page          |
| that of its partition           |                                                                |
| none is                         | it is removed                                                  |

Ids, blocks and what its reader has seen are noted in one transaction; then it gets its name. A kill between
the two is *unfinished*: the next opening renames it. One that was not reported (its reader, or who waited
for it, was killed) is *unknown*: the next opening adopts it in the same way, as rows of no source.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..._core.replies.rows import Row, row_of
from ...errors import ChatRestError
from ..plan.file_names import path_inside
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number
from .converters import format_of
from .disk import Disk, make_folder, sync_folder
from .journal import Count, StoreBlock
from .segments import fragment_path


class FragmentLostError(ChatRestError):
    """A fragment is not there, or not all of it: what was read for it is to be read again."""


class Fragment(NamedTuple):
    """A fragment, as its maker reports it."""

    name: str
    """Below the export's folder."""
    stem: str
    size: Count
    sha256: bytes
    blocks: list[StoreBlock]
    others: list[tuple[int, str]]
    """The source and the key of each id in it that is no number."""


def chosen_rows(
    fragment: Fragment, path: Path, new: IdSet, new_keys: set[str]
) -> Iterator[tuple[int, list[Row]]]:
    """Yield the rows of a fragment that have these ids, with their sources; reads all of it."""
    numbers = {each: block.source for block in fragment.blocks for each in block.ids & new}
    keys = {key: source for source, key in fragment.others if key in new_keys}
    known = format_of(fragment.name)
    for piece in known.read(path, fragment.size) if known else ():
        parts: dict[int, list[Row]] = {}
        for row in map(row_of, piece.raws):
            numbered = number(row.id)
            source = keys.get(key_of(row)) if numbered is None else numbers.get(numbered)
            if source is not None:
                parts.setdefault(source, []).append(row)
        yield from parts.items()


def place_fragments(disk: Disk, folder: Path, names: Iterable[str]) -> None:
    """Give adopted fragments their names; those in an object store have them."""
    folders = dict[Path, None]()
    for name in names:
        fragment, path = fragment_path(folder, name), path_inside(folder, name)
        if fragment.exists():
            make_folder(disk, path.parent)
            disk.replace(fragment, path)
            folders[path.parent] = None
    for each in folders:
        sync_folder(disk, each)
