"""The exports at a path or address: one, or those of its parts and of many apps.

| OUT has                     | its exports                                                                |
|-----------------------------|----------------------------------------------------------------------------|
| a manifest or a journal     | OUT itself, whose name is empty                                            |
| `parts.json`, or `part=NN/` | `part=00`, `part=01` …: all that `parts.json` names, begun or not          |
| `app=NAME/`                 | those of each app: `app=shop`, or `app=shop/part=00` …                     |
| `bagit.txt` and `data/`     | those of `data/`: it is a bag that `chatrest seal` has made, on a disk     |

A reader goes over them in this order, and does with each what it does with a single one.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..._cloud.address import is_address
from ..._cloud.store_errors import ObjectNotFoundError
from ..._secrets import repr_of
from ..._threads import wait_for
from ...errors import RequestInvalidError
from ..folder.folder_state import no_export_error
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import NAME as MANIFEST
from ..folder.part_files import PartFiles, find_parts, is_settled, read_state
from ..plan.file_names import local_path
from ..plan.parts import FOREIGN, NAME as PARTS, Parts, is_app_name, part_number
from ..store.disk import Disk
from .folder_view import FolderView

if TYPE_CHECKING:
    from ..._cloud.store import ObjectStore

_Entries: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""The names of files, and those of folders."""
BAG: Final = "bagit.txt"
DATA: Final = "data"
Position: TypeAlias = int | str
"""The number of a run; of a folder of exports the name and the run of each, such as `part=00:5,part=01:7`.

It can be kept, passed on a command line, and compared. What begins later has no entry, and is new.
"""
_RUN: Final = r"(?:0|[1-9][0-9]{0,17})"
_NAME: Final = r"[\w%.=~/-]{1,500}"
_POSITION: Final = re.compile(rf"{_NAME}:{_RUN}(?:,{_NAME}:{_RUN})*", re.ASCII)


class ExportAddress(NamedTuple):
    out: Path | str
    name: str = ""
    """Its path in the folder of exports, such as `app=shop/part=03`; empty for a single export."""

    @classmethod
    def of(cls, out: object) -> "ExportAddress":
        return cls(out if isinstance(out, str) and is_address(out) else local_path(out))

    def open(self, *, may_be_new: bool = False) -> FolderView:
        """Return its view; in a folder of exports also before a run has begun it.

        Raises `RequestInvalidError` for an object store without an export, and `ObjectStoreError`.
        """
        if isinstance(self.out, Path):
            return FolderView(self.out, self.name)
        from .store_view import StoreView

        return StoreView(self.out, self.name, may_be_new=may_be_new or bool(self.name))

    def below(self, name: str) -> "ExportAddress":
        out = self.out / name if isinstance(self.out, Path) else f"{self.out.rstrip('/')}/{name}"
        return ExportAddress(out, f"{self.name}{self.name and '/'}{name}")

    @property
    def app(self) -> str:
        """Its app, NAME of `app=NAME`; empty if there is only one app."""
        return app_of(self.name)


def app_of(name: str) -> str:
    """Return NAME of the folder `app=NAME` in an export's name; empty if there is only one app."""
    first = name.partition("/")[0]
    return first.partition("=")[2] if is_app_name(first) else ""


def run_folder(view: FolderView) -> str:
    """Return OUT of `chatrest export` for another run of an export: of a part, the folder of all parts."""
    name, last = view.name.rstrip("/"), view.export.rpartition("/")[2]
    return name.removesuffix(last).rstrip("/") if part_number(last) is not None else name


def addresses_of(out: object) -> list[ExportAddress]:
    """Return the exports at `out`, at least one: to open it raises an error if there is no export."""
    own = ExportAddress.of(out)
    return list(_below(own)) or [own]


def part_roots(addresses: Iterable[ExportAddress]) -> list[ExportAddress]:
    """Return the folders with `parts.json` that these exports are parts of."""
    roots = list[ExportAddress]()
    for address in addresses:
        folder, _, last = address.name.rpartition("/")
        if part_number(last) is not None:
            out = address.out.parent if isinstance(address.out, Path) else address.out.rpartition("/")[0]
            roots.append(ExportAddress(out, folder))
    return list(dict.fromkeys(roots))


def parts_at(addresses: Collection[ExportAddress]) -> Parts | None:
    """Return the content of `parts.json` if these are the parts of one export; None for others."""
    roots = part_roots(addresses)
    is_one = len(roots) == 1 and all(len(part_roots([address])) == 1 for address in addresses)
    stored = wait_for(find_parts(part_files(roots[0].out))) if is_one else None
    return None if stored is None else stored[0]


def part_files(out: object, disk: Disk | None = None) -> PartFiles:
    if isinstance(out, str) and is_address(out):
        from ..remote.part_objects import PartObjects

        return PartObjects(out)
    return PartFiles(local_path(out), disk)


def part_lacks(address: ExportAddress) -> list[str]:
    """Return the reasons, as sentences, why a part is not complete although its own manifest may say so."""
    number, roots = part_number(address.name.rpartition("/")[2]), part_roots([address])

    async def lacks(number: int) -> list[str]:
        files = part_files(roots[0].out)
        if (stored := await find_parts(files)) is None:
            return []
        state = await read_state(files, stored[0], number)
        is_read = state.night == stored[0].night
        has_taken_in = await is_settled(files, stored[0], number, state)
        return [
            *([] if is_read else ["it was not read to its end since the users were listed last"]),
            *([] if has_taken_in else [f"what other parts have left in {FOREIGN}/ was not taken in"]),
        ]

    return [] if number is None else wait_for(lacks(number))


def open_exports(out: object) -> Iterator[FolderView]:
    """Yield the views of the exports at `out` that a run has begun; the caller closes each.

    Raises `RequestInvalidError` where there is no export.
    """
    for address in addresses_of(out):
        if (view := address.open()).is_begun:
            yield view
        elif address.name:
            view.__exit__()
        else:
            raise no_export_error(view.folder)


def bag_of(out: object) -> Path | None:
    """Return the folder of a bag if `out` is one; None for all else."""
    path = ExportAddress.of(out).out
    if isinstance(path, Path) and (path / BAG).is_file() and (path / DATA).is_dir():
        return path
    return None


def _below(own: ExportAddress) -> Iterator[ExportAddress]:
    names, folders = _names(own.out)
    if MANIFEST in names or JOURNAL in names:
        yield own
    elif BAG in names and DATA in folders:
        if isinstance(own.out, str):
            raise RequestInvalidError(
                f"{own.out} is a bag in an object store, which cannot be read there: copy it to a disk first"
            )
        yield from _below(own._replace(out=own.below(DATA).out))
    elif PARTS in names:
        stored = wait_for(find_parts(part_files(own.out)))
        yield from map(own.below, () if stored is None else stored[0].names)
    else:
        yield from map(own.below, sorted(name for name in folders if part_number(name) is not None))
        for app in sorted(filter(is_app_name, folders)):
            if not re.fullmatch(_NAME, app, re.ASCII):  # a load could not note its position
                raise RequestInvalidError(f"folder {app!r}: expected app=NAME, as `export --apps` names it")
            yield from list(_below(own.below(app))) or [own.below(app)]


def _names(out: Path | str) -> _Entries:
    if isinstance(out, str):
        from ..._cloud.store import ObjectStore

        return wait_for(_entries(ObjectStore.open(out)))
    if not out.is_dir():
        return frozenset(), frozenset()
    entries = list(out.iterdir())
    return (
        frozenset(path.name for path in entries if path.is_file() and path.stat().st_size),
        frozenset(path.name for path in entries if path.is_dir()),
    )


async def _entries(store: "ObjectStore") -> _Entries:
    """Return the names at an address; the manifest or `parts.json` alone if it is there, without a list."""
    await store.check_reachable()
    for name in (MANIFEST, PARTS):
        with suppress(ObjectNotFoundError):
            return frozenset([(await store.head(name)).name]), frozenset()
    return await store.entries()


class PositionError(RequestInvalidError):
    """The position belongs to other exports."""


def parse_position(text: str) -> Position:
    return int(text) if re.fullmatch(_RUN, text) else text


def position_of(runs: Mapping[str, int]) -> Position:
    """Return the position after these runs, by the name of the export: empty for a single one."""
    if "" in runs:
        return runs[""]
    return ",".join(f"{name}:{run}" for name, run in runs.items() if run) or 0


def runs_in_position(position: str) -> dict[str, int]:
    return {name: int(run) for name, run in (entry.rsplit(":", 1) for entry in position.split(","))}


def runs_of(position: object, names: Sequence[str]) -> dict[str, int]:
    """Return the run of each of these exports at a position; 0 for one that the position does not name.

    Raises `PositionError` for a position of other exports.
    """
    is_single, fault = "" in names, ""
    if type(position) is int and (position == 0 or (is_single and position > 0)):
        return dict.fromkeys(names, position)
    if not is_single and isinstance(position, str) and _POSITION.fullmatch(position):
        runs = runs_in_position(position)
        if not (unknown := [name for name in runs if name not in names]):
            return {name: runs.get(name, 0) for name in names}
        fault = f"it names {unknown[0]}, which is not in this folder: "
    own_position = ",".join(f"{name}:1" for name in names[:2])
    expected = "the number of a run" if is_single else f"a position of this folder, such as {own_position}"
    raise PositionError(
        f"after = {repr_of(position)}: {fault}expected {expected}, or 0 for all", name="after"
    )
