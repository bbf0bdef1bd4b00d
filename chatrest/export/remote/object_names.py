"""The names of an export's objects: what a run puts, and so may delete where no version has it."""

import re
from typing import Final

from ..._cloud.publication import base_name
from ..folder.tables import ATTACHMENTS, TABLES
from ..plan.file_names import HISTORY, STEM

_OWN: Final = re.compile(
    rf"(?:messages/(?:[^/]+/)?messages|history|journal|manifest|runs|attachments/journal"
    rf"|({'|'.join((*TABLES, ATTACHMENTS))})/\1)\.[a-z.]+"
)
"""The names of an export's files, without what makes an object's name unique."""


def remedy(address: str, name: str, machine: object) -> str:
    """Return the way to mend a file whose object is lost or damaged; `machine` has published it last.

    Files of messages are in the store only, all others in the machine's local copy as well.
    """
    if name.startswith(HISTORY):
        return (
            f"restore an earlier version of the object {address}/{name}, as older versions cannot "
            "be read again; without one keep it: what can still be read of it is nowhere else"
        )
    if name.startswith(f"{STEM}/"):
        return (
            f"restore an earlier version of the object {address}/{name}, as what was deleted in the service "
            "is in it alone; or keep a copy of what is left of it, delete it there, and run "
            f"`chatrest export {address}` again: its messages are read again"
        )
    return (
        f"run `chatrest export {address}` on the machine '{machine}', with its `--journal` if it had one: it "
        "has published this last, and puts it there again from its local copy"
    )


def is_own(name: str) -> bool:
    """Return True for a name that a run gives; not for attachments, which are named by their content."""
    return _OWN.fullmatch(base_name(name)) is not None
