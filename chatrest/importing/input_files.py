"""The files of an import: which they are, what kind each of them holds, and where the journal is."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from .._cloud.address import is_address
from .._parameters.fields import words_of
from .._secrets import repr_of
from ..errors import RequestInvalidError
from .import_records import KINDS, Kind, kind_of, read_object
from .input_lines import read_lines

Files: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
"""A path, or several of them."""

_JOURNAL_SUFFIX: Final = ".import-journal"
_LINES_FOR_KIND: Final = 1000


class InputFile(NamedTuple):
    name: str
    path: Path
    kind: Kind


def input_files(files: Files, kind: Kind | None) -> list[InputFile]:
    """Return the files in the order of `KINDS`; raises `RequestInvalidError` for a wrong argument."""
    if kind is not None and kind not in KINDS:
        raise RequestInvalidError(f"kind = {kind!r}: expected {words_of(KINDS)}, or None", name="kind")
    paths: Any = [files] if isinstance(files, str | PathLike) else files
    inputs = list[InputFile]()
    for file in paths if isinstance(paths, Iterable) else [paths]:
        if not isinstance(file, str | PathLike):
            raise RequestInvalidError(
                f"files = {repr_of(files)}: expected a path, or a list of paths", name="files"
            )
        path = Path(file)
        if path.is_dir() or (isinstance(file, str) and is_address(file)):
            kind_of_path = "a folder" if path.is_dir() else "an address"
            raise RequestInvalidError(
                f"files: '{file}' is {kind_of_path}: expected files of lines; `chatrest guide copying` "
                "imports those of an export",
                name="files",
            )
        if not path.exists():
            raise RequestInvalidError(f"files: there is no file {str(path)!r}", name="files")
        inputs.append(InputFile(path.name, path, kind or _detect_kind(path)))
    if not inputs:
        raise RequestInvalidError("files: expected at least one file", name="files")
    return sorted(inputs, key=lambda file: KINDS.index(file.kind))


def journal_path(inputs: list[InputFile], journal: str | Path | None) -> Path:
    first = inputs[0].path
    path = first.with_name(first.name + _JOURNAL_SUFFIX) if journal is None else Path(journal)
    if path.is_dir() or path.resolve() in {file.path.resolve() for file in inputs}:
        raise RequestInvalidError(
            f"journal = {str(path)!r}: expected a file that is not one of those to import", name="journal"
        )
    return path


def _detect_kind(path: Path) -> Kind:
    """Return the kind of the first record of 1,000 lines that shows one, else the kind that the name says."""
    stem, fault = path.name.partition(".")[0], ""
    if stem == "bans":
        return "bans"  # the record of a banned user may look like that of a member
    for line in read_lines(path):
        if line.end.line > _LINES_FOR_KIND:
            break
        try:
            kind = kind_of(read_object(line.raw or b"{}"))
        except RequestInvalidError as error:
            fault = fault or f" ({path.name}:{line.end.line}: {error})"
            continue
        if kind is not None:
            return kind
    for kind in KINDS:
        if kind == stem:
            return kind  # such as an empty table of an export
    raise RequestInvalidError(
        f"kind: no record of '{path}' shows its kind{fault}: expected {words_of(KINDS)}", name="kind"
    )
