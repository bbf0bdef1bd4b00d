"""Bring files and journal together when an export is opened: what is not on disk leaves the journal.

| the file                                  | what is done                                                   |
|-------------------------------------------|----------------------------------------------------------------|
| its new content waits in the spool        | it is put in place                                             |
| is longer than was committed              | torn by a crash: cut                                           |
| is shorter, and grows by blocks           | copied aside, and cut behind its last whole block              |
| is shorter or longer, and does not grow   | moved aside                                                    |
| is not there, and the store has it        | nothing: it is remote                                          |
| has another size, and the store has it    | moved aside: it is remote                                      |
| is not there                              | it is dropped                                                  |
| has bytes of which no block tells         | moved aside: the journal was edited                            |

The ids of what was dropped are not written any more, and so they are missing, and read again. Only a torn
end, which no commit knows, is removed.
"""

import hashlib
from collections.abc import Callable

from ..disk import copy_aside, set_aside
from ..journal import Block, DataFile, Role
from ..workspace import Workspace
from .block_files import BlockFiles
from .data_files import StateOf, rename_new


def recover_blocks(workspace: Workspace, files: BlockFiles) -> None:
    """Recover growing files; called inside of a transaction."""
    for file in _finish_replacing(workspace, files.role, files.state_of, _has_its_blocks):
        blocks = workspace.journal.blocks(file.number)
        size = size_of(workspace, file)
        if not _is_tiled(blocks, file.size):
            drop_file(workspace, file)
        elif size > file.size:
            workspace.disk.truncate(workspace.path(file), file.size)
        elif size < file.size and not _leave_to_store(workspace, file):
            _cut(workspace, files, file, size)


def recover_whole(workspace: Workspace, state_of: StateOf) -> None:
    """Recover the files of messages that are written in one go; called inside of a transaction."""
    for file in _finish_replacing(workspace, "part", state_of, _has_its_digest):
        if size_of(workspace, file) != file.size and not _leave_to_store(workspace, file):
            drop_file(workspace, file)


def size_of(workspace: Workspace, file: DataFile) -> int:
    """Return the size of a file on disk, or in the store where it is remote; -1 where it is lost."""
    path = workspace.path(file)
    if path.is_file():
        return path.stat().st_size
    return file.size if workspace.is_remote(file) else -1


def drop_file(workspace: Workspace, file: DataFile) -> None:
    """Drop a file from the journal; what is in its place is moved aside."""
    if workspace.path(file).exists():
        set_aside(workspace.disk, workspace.folder, file.name)
    workspace.journal.drop_file(file.number)


def _leave_to_store(workspace: Workspace, file: DataFile) -> bool:
    """Move a file that was cut aside, if the store has it; return True where it has."""
    if workspace.remote is None or not workspace.remote.has(file):
        return False
    set_aside(workspace.disk, workspace.folder, file.name)
    return True


def _finish_replacing(
    workspace: Workspace, role: Role, state_of: StateOf, is_whole: Callable[[Workspace, DataFile], bool]
) -> list[DataFile]:
    """Put in place what waits for it; return the files of the role that are in place.

    Where a new content is not there, because somebody removed the spool, the older contents that it was made
    from are moved aside.
    """
    files = workspace.journal.files(role)
    replacing = [file for file in files if file.state == "replacing"]
    rename_new(workspace, replacing)
    lost = [file for file in replacing if file.size and not is_whole(workspace, file)]
    for file in replacing:
        if file in lost or (lost and not file.size):
            drop_file(workspace, file)
        elif not file.size:
            workspace.disk.remove(workspace.path(file))
            workspace.journal.drop_file(file.number)
        else:
            workspace.journal.keep_file(file._replace(state=state_of(file)))
    return workspace.journal.files(role) if replacing else files


def _cut(workspace: Workspace, files: BlockFiles, file: DataFile, size: int) -> None:
    """Keep the whole blocks of a file that was shortened to a size."""
    journal = workspace.journal
    whole = [block for block in journal.blocks(file.number) if block.start + block.size <= size]
    if not whole:
        drop_file(workspace, file)
        return
    end = whole[-1].start + whole[-1].size
    if end < size:
        copy_aside(workspace.files, workspace.disk, workspace.folder, file.name)
        workspace.disk.truncate(workspace.path(file), end)
    journal.drop_blocks(file.number, end)
    file = file._replace(size=end)
    journal.keep_file(file._replace(state=files.state_of(file)))
    files.note_others(file, [block for block in whole if block.other > 1])


def _is_tiled(blocks: list[Block], size: int) -> bool:
    """Return True if the blocks are one after the other, from the file's beginning to its end."""
    end = 0
    for block in blocks:
        if block.start != end or block.size <= 0:
            return False
        end += block.size
    return end == size


def _has_its_blocks(workspace: Workspace, file: DataFile) -> bool:
    if size_of(workspace, file) < 0:
        return False
    with workspace.content(file) as path, path.open("rb") as opened:
        for block in workspace.journal.blocks(file.number):
            opened.seek(block.start)
            if hashlib.sha256(opened.read(block.size)).digest() != block.digest:
                return False
    return True


def _has_its_digest(workspace: Workspace, file: DataFile) -> bool:
    if size_of(workspace, file) < 0:
        return False
    with workspace.content(file) as path, path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest() == file.digest
