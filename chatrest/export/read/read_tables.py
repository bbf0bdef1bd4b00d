"""Read the tables and the attachments of an export back, from any format.

A file of its own because messages are read without it. A table is the snapshot of the last run that has read
it completely; where there is none, it has no records.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from os import PathLike
from pathlib import Path

from ...errors import RequestInvalidError
from ..folder import manifest
from ..folder.manifest import TableEntry
from ..folder.tables import ATTACHMENTS, find_table, read_table as records_of
from ..plan.file_names import path_inside
from .exports import open_exports
from .folder_view import FolderView


def read_table(out: str | PathLike[str], table: str) -> Iterator[bytes]:
    """Return an iterator over the records of a table of the export in `out`, as they were served.

    `table` is one that the export was asked for, such as `users`, or `attachments`, whose rows say in `file`
    where a file is. There are no records where the export has no such table. It reads a disk, and blocks.

    Raises `RequestInvalidError` for a table that is not as the manifest says, and OSError.
    """
    for view in open_exports(out):
        with view:
            for entry in table_entries(view):
                if entry.table == table:
                    yield from table_records(view, entry)


def table_entries(view: FolderView) -> list[TableEntry]:
    """Return the tables that the manifest of an open export names; none where there is no manifest yet."""
    try:
        return manifest.read(view.folder / manifest.NAME).tables
    except FileNotFoundError:
        return []


def table_records(view: FolderView, entry: TableEntry) -> Iterator[bytes]:
    """Yield the records of a table of an open export; raises as `read_table`."""
    with view.file(entry.file):
        if (path := find_table(view.folder, entry)) is None:
            raise changed_file(view, entry.file)
        yield from records_of(path, entry.table)


def changed_file(view: FolderView, name: str) -> RequestInvalidError:
    """Return the error for a file that is not as the manifest says."""
    return RequestInvalidError(
        f"{view.name}/{name} is not as the manifest says: `chatrest verify {view.name}` shows what is wrong"
    )


@contextmanager
def attachment_files(
    out: str | PathLike[str],
) -> Iterator[Callable[[str], AbstractContextManager[Path]]]:
    """Give a function that has the file of a row of `attachments` on the disk within its block.

    The path may be of a file that is not there. One of an object store is downloaded, and removed afterwards.
    Raises `ChatRestError` for a name that leads out of the export, and OSError.
    """
    with ExitStack() as stack:
        views = [stack.enter_context(view) for view in open_exports(out)]

        @contextmanager
        def opened(file: str) -> Iterator[Path]:
            name = f"{ATTACHMENTS}/{file}"
            for view in views:  # one file of several exports has one name, and the same content
                with view.file(name):
                    path = path_inside(view.folder, name)
                    if view is views[-1] or path.is_file():
                        views.remove(view)
                        views.insert(0, view)  # the next one is often there, too
                        yield path
                        return

        yield opened
