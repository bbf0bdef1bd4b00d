"""The place of an export: a folder, or the address of an object store with its working copy."""

from collections.abc import Awaitable, Callable
from os import PathLike
from pathlib import Path

from ..._cloud.address import is_address
from ..._core.requests.arguments import check
from ..plan.file_names import local_path
from ..plan.report import Phase, Progress, Report


async def run_at(
    out: str | PathLike[str], root: Path | None, shown: Progress, run: Callable[..., Awaitable[Report]]
) -> Report:
    """Call `run` with the folder of an export, and publish it where `out` is an object store's address.

    `root` is the folder of its working copy then, and else None. `run` takes the arguments of `export_folder`
    that depend on it: `folder`, and by name `alongside` and `remote`.
    """
    if root is None:
        return await run(local_path(out))
    from ..remote.store_export import store_export

    async with store_export(str(out), root, progress=shown) as target:
        report = await run(target.folder, alongside=target.publishing, remote=target)
        shown.enter(Phase.PUBLISHING)
        await target.publish()
    report.warnings += target.warnings
    shown.enter(Phase.DONE)
    return report


def place_in(out: str | PathLike[str], name: str) -> Path | str:
    """Return the folder of one of many exports, or its address where `out` is one."""
    if isinstance(out, str) and is_address(out):
        return f"{out.rstrip('/')}/{name}"
    return local_path(out) / name


def journal_root(out: object, journal: str | PathLike[str] | None) -> Path | None:
    """Return the folder of the working copy of an export in an object store; None for one in a folder.

    Raises `RequestInvalidError` for a wrong address, without the extra `cloud`, and for a `journal` beside a
    folder.
    """
    if isinstance(out, str) and is_address(out):
        from ..._cloud.address import import_obstore
        from ..remote.working_folder import default_root

        import_obstore()
        root = default_root(out)
        return root if journal is None else local_path(journal, "journal")
    check(journal is None, "journal", journal, "None, as out is a folder, which has its own journal")
    return None
