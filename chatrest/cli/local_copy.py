"""The local folder of an export in an object store: `--journal` of `export` and `compact`."""

from pathlib import Path

import click


def local_copy(out: str, journal: Path | None) -> Path | None:
    """Return the folder of the local copy of the export in `out`; None where `out` is a folder itself.

    A `journal` beside a folder is a `click.UsageError`; the other errors are those of `journal_root`.
    """
    from ..cloud.address import is_address
    from ..export.entry_points import journal_root

    if journal is not None and not is_address(out):
        raise click.UsageError(f"--journal is for an export in an object store: {out!r} is a folder")
    return journal_root(out, journal)
