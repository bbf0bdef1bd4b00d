"""The position of a reader of changes: the number of a run, or of a folder of exports that of each.

The text of several is `part=00:5,part=01:7`: the names of the exports in it, with the newest run of each that
was read. It can be kept, passed on a command line, and compared. What begins later has no entry, and is new.

A file of its own because a load keeps such a position in its database, and the command takes one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ..._secrets import shown
from ...errors import RequestInvalidError

Position: TypeAlias = int | str
_RUN: Final = r"(?:0|[1-9][0-9]{0,17})"
NAME: Final = r"[\w%.=~/-]{1,500}"
_POSITION: Final = re.compile(rf"{NAME}:{_RUN}(?:,{NAME}:{_RUN})*", re.ASCII)


class PositionError(RequestInvalidError):
    """A position is not one of these exports."""


def parse_position(text: str) -> Position:
    """Return the position that a text is of, as `str` gives it."""
    return int(text) if re.fullmatch(_RUN, text) else text


def position_of(runs: Mapping[str, int]) -> Position:
    """Return the position after these runs, by the name of the export in its folder: empty for one alone."""
    if "" in runs:
        return runs[""]
    return ",".join(f"{name}:{run}" for name, run in runs.items() if run) or 0


def runs_in_position(position: str) -> dict[str, int]:
    """Return the run of each export that a position of several names."""
    return {name: int(run) for name, run in (each.rsplit(":", 1) for each in position.split(","))}


def runs_of(position: object, names: Sequence[str]) -> dict[str, int]:
    """Return the run of each of the exports with these names.

    Raises `PositionError` for what is no position of these.
    """
    if type(position) is int and position == 0:
        return dict.fromkeys(names, 0)
    if "" in names:
        if type(position) is not int or position < 0:
            raise PositionError(f"after = {shown(str(position))}: expected the number of a run, or 0 for all")
        return {"": position}
    if not isinstance(position, str) or not _POSITION.fullmatch(position):
        raise PositionError(
            f"after = {shown(str(position))}: expected 0, or the position that the last reading of this "
            "folder of exports gave, such as part=00:5,part=01:7"
        )
    runs = runs_in_position(position)
    if unknown := [name for name in runs if name not in names]:
        raise PositionError(f"after: there is no {unknown[0]} here: it is a position of another folder")
    return {name: runs.get(name, 0) for name in names}
