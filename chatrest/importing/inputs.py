"""The inputs of an import: files of lines, and the tables and messages of exports, in the order of import."""

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import RequestInvalidError
from ..export.manifest import NAME as MANIFEST
from .entities import KINDS, Kind, kind_of, read_object
from .export_folder import ExportFolder
from .input_files import Input, input_paths, read_lines
from .shown_records import read_line

SUFFIX: Final = ".import-journal"
_LINES_FOR_KIND: Final = 1000


class Inputs(NamedTuple):
    """All inputs of an import."""

    files: list[Input]
    omissions: Counter[str]
    """What exports hold beside the records, and no import takes."""
    roles: frozenset[str]
    """Those of the users of exports."""

    @property
    def names(self) -> list[tuple[str, Kind]]:
        """The files as the journal has them."""
        return [(each.name, each.kind) for each in self.files]

    def journal_path(self, journal: str | Path | None) -> Path:
        """Return the path of the journal, which may not be that of a file."""
        first = self.files[0].path
        path = first.with_name(first.name + SUFFIX) if journal is None else Path(journal)
        if path.resolve() in {each.path.resolve() for each in self.files}:
            raise RequestInvalidError(f"journal = {str(path)!r}: allowed is a path of no file to import")
        return path


def read_inputs(
    files: Iterable[str | Path], kind: Kind | None, stack: ExitStack, *, allow_incomplete: bool
) -> Inputs:
    """Return the inputs, in the order in which they are imported; `stack` closes what they hold open."""
    if kind is not None and kind not in KINDS:
        raise RequestInvalidError(f"kind = {kind!r}: allowed are {', '.join(KINDS)}, or None")
    inputs: list[Input] = []
    omissions: Counter[str] = Counter()
    roles: set[str] = set()
    for path in map(Path, files):
        if (path / MANIFEST).is_file():
            folder = ExportFolder(path, allow_incomplete=allow_incomplete)
            stack.callback(folder.close)
            inputs += [part for part in folder.parts() if kind in (None, part.kind)]
            if kind is None:
                omissions.update(folder.omissions())
            roles |= folder.roles() if kind in (None, "users") else set()
        else:
            for each in input_paths([path]):
                detected = kind or _detected_kind(each)
                inputs.append(Input(each.name, each, detected, partial(read_lines, each), read_line))
    if not inputs:
        raise RequestInvalidError("files: allowed is one file or folder at least")
    inputs.sort(key=lambda each: (each.is_last, KINDS.index(each.kind)))
    return Inputs(inputs, omissions, frozenset(roles))


def _detected_kind(path: Path) -> Kind:
    """Return the kind of the first record that shows one, within the first 1,000 lines."""
    for line in read_lines(path):
        if line.end.line > _LINES_FOR_KIND:
            break
        try:
            kind = kind_of(read_object(line.raw or b""))
        except RequestInvalidError:
            continue
        if kind is not None:
            return kind
    raise RequestInvalidError(
        f"{path}: no record shows its kind; give the kind, which is one of {', '.join(KINDS)}"
    )
