"""The local folder of an export in an object store: `--journal` of `export` and `compact`."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import click


def local_copy(
    out: str, journal: Path | None, folder_options: Mapping[str, str | None] = MappingProxyType({})
) -> Path | None:
    """Return the folder of the local copy of the export in `out`; None where `out` is a folder itself.

    `folder_options` are options by name that need a folder: one that is given beside the address of an object
    store is a `click.UsageError`, and so is `journal` beside a folder. Others are those of `journal_root`.
    """
    from ..cloud.address import is_address
    from ..export.entry_points import journal_root

    if journal is not None and not is_address(out):
        raise click.UsageError(f"--journal is for an export in an object store: {out!r} is a folder")
    for option, value in folder_options.items():
        if value is not None and is_address(out):
            raise click.UsageError(f"{option} writes to a folder, and {out!r} is an object store")
    return journal_root(out, journal)
