"""Data files whose content is made in the folder `spool` and then put in place, by one rename.

A file of messages is new, is rewritten with newer versions of its messages, or is merged from smaller ones.
In each case this is the order, and a crash between any two steps loses nothing and leaves nothing twice:

| step                                                                            | the file's state |
|---------------------------------------------------------------------------------|------------------|
| the content is written to `spool/NUMBER.new`, and synced                        |                  |
| one commit: the file with its new size and blocks; files merged into it: size 0 | replacing        |
| the content is renamed into place; files of size 0 are removed; folders synced  | replacing        |
| one commit: the file is in place; files of size 0 are dropped                   | open or whole    |

So `messages/` never holds a file that the journal does not know. When an export is opened, `finish_replacing`
completes the third step.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Final, TypeAlias

from ..disk import make_folder, sync_folder
from ..file_names import SPOOL, path_inside
from ..journal import Block, DataFile, FileState, Journal
from ..workspace import Workspace

StateOf: TypeAlias = Callable[[DataFile], FileState]
"""The state of a file that is in place."""
_SMALL: Final = 8
"""A file is small below this part of the largest size."""


def free_name(workspace: Workspace, stem: str, suffix: str) -> str:
    """Return one of `STEM.suffix`, `STEM-2.suffix` … that neither the journal nor the disk has.

    It is the first one where the numbers have no holes. Costs few looks, however many files there are.
    """

    def name(count: int) -> str:
        return f"{stem}-{count}{suffix}" if count > 1 else stem + suffix

    def is_free(count: int) -> bool:
        each = name(count)
        return not (workspace.journal.has_file(each) or path_inside(workspace.folder, each).exists())

    taken, free = 0, 1
    while not is_free(free):
        taken, free = free, free * 2
    while free - taken > 1:
        middle = (taken + free) // 2
        taken, free = (taken, middle) if is_free(middle) else (middle, free)
    return name(free)


def content(workspace: Workspace, file: DataFile) -> AbstractContextManager[Path]:
    """Have the content of a file within the block: in its place, or still in the spool."""
    if file.state == "replacing" and (new := workspace.new_path(file)).exists():
        return nullcontext(new)
    return workspace.content(file)


def commit_in_place(workspace: Workspace, files: Iterable[DataFile], state_of: StateOf) -> list[DataFile]:
    """Put files in the state `replacing` in place, and let the journal say so.

    Called outside of a transaction. Returns them as they are in the journal then. Raises OSError.
    """
    files = list(files)
    rename_new(workspace, files)
    folders = set[Path]()
    for path in [workspace.path(file) for file in files if not file.size]:
        workspace.files.release(path)
        workspace.disk.remove(path)
        folders.add(path.parent)
    _sync(workspace, folders)
    placed = [file._replace(state=state_of(file)) for file in files if file.size]
    with workspace.journal.transaction():
        for file in files:
            if not file.size:
                workspace.journal.drop_file(file.number)
        for file in placed:
            workspace.journal.keep_file(file)
    return placed


def rename_new(workspace: Workspace, files: Iterable[DataFile]) -> None:
    """Rename the new contents of files that wait in the spool; repeating it changes nothing."""
    folders = set[Path]()
    for file in (file for file in files if file.size):
        path, new = workspace.path(file), workspace.new_path(file)
        workspace.files.release(path)
        workspace.files.release(new)
        if new.exists():
            make_folder(workspace.disk, path.parent)
            workspace.disk.replace(new, path)
            folders.add(path.parent)
    _sync(workspace, folders)


def take_blocks(journal: Journal, files: Sequence[DataFile]) -> list[list[Block]]:
    """Drop the blocks of files from the journal, and return them by file.

    The ids that are no numbers are noted for the first of the files, into which all are rewritten.
    """
    blocks = [journal.blocks(file.number) for file in files]
    for file in files:
        journal.replace_blocks(file.number, ())
        journal.move_others(file.number, files[0].number)
    return blocks


def sweep_spool(workspace: Workspace) -> None:
    """Remove what the journal does not know from the folder `spool`, and the folder if it is empty."""
    spool = path_inside(workspace.folder, SPOOL)
    if not spool.is_dir():
        return
    files = workspace.journal.files()
    known = {workspace.path(file) for file in files if file.role == "spool"}
    known |= {workspace.new_path(file) for file in files if file.state == "replacing"}
    for path in list(spool.iterdir()):
        if path not in known and (path.is_file() or path.is_symlink()):
            workspace.files.release(path)
            workspace.disk.remove(path)
    with suppress(OSError):  # it is not empty
        spool.rmdir()


def _sync(workspace: Workspace, folders: Iterable[Path]) -> None:
    for folder in folders:
        if folder.is_dir():
            sync_folder(workspace.disk, folder)


def small_groups(files: Iterable[DataFile], largest: int, least: int) -> Iterator[list[DataFile]]:
    """Yield the files that are to be merged: of one partition, and each small.

    A file is small below an eighth of `largest` bytes, so that what was merged is seldom merged again. A
    partition with fewer than `least` small files (at least 2) is left as it is. A group is full when it is
    not small any more.
    """
    small: dict[str, list[DataFile]] = {}
    for file in files:
        if file.size < largest // _SMALL:
            small.setdefault(file.partition_key, []).append(file)
    for partition in small.values():
        if len(partition) < max(least, 2):
            continue
        group: list[DataFile] = []
        for file in partition:
            group.append(file)
            if sum(each.size for each in group) >= largest // _SMALL:
                yield group
                group = []
        if len(group) > 1:
            yield group
