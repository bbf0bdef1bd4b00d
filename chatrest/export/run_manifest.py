"""The manifest of a run: what it says while the run goes on, and at its end."""

from msgspec import Raw, structs

from .archive import Archive
from .manifest import NAME, Manifest, TableEntry, encode, find_undamaged, journal_claims, put, tables_of
from .report import Report


def write_finished(archive: Archive, report: Report, tables: list[TableEntry] | None = None) -> None:
    """Write the manifest of a run that came to its end. Nothing may change the journal after that.

    Without `tables` the manifest keeps those that it has.
    """
    begun = _begun(archive, report.started)
    manifest = structs.replace(
        begun,
        reasons=report.all_reasons,
        complete=report.complete,
        finished=report.finished,
        until=None if report.until is None else str(report.until),
        messages=report.messages,
        tables=begun.tables if tables is None else tables,
        **journal_claims(archive.journal, archive.sink.counts()),
    )
    put(archive.disk, archive.folder / NAME, encode(manifest))


def write_unfinished(archive: Archive, started: int, reason: str) -> None:
    """Write that the export is not whole; the entries of the last manifest are kept."""
    manifest = _begun(archive, started)
    manifest.reasons = [reason]
    if (last := find_undamaged(archive.folder)) is not None:
        for name in ("until", "messages", "deleted", "missing", "sources", "files"):
            setattr(manifest, name, getattr(last, name))
    put(archive.disk, archive.folder / NAME, encode(manifest))


def _begun(archive: Archive, started: int) -> Manifest:
    return Manifest(
        generation=archive.journal["generation"] or "",
        app_id=archive.journal["app"] or "",
        plan=Raw(archive.plan.encoded()),
        fingerprint=archive.plan.fingerprint,
        started=started,
        tables=tables_of(archive.folder),
    )
