"""The options of an export that each folder has: one export, or each part of many."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ..._core.requests.arguments import check, check_count
from ..._struct_help import NamedFields
from ...errors import RequestInvalidError
from ...session import AsyncSession
from ..dataset.attachments import AttachmentOptions
from ..fetch.worker_pool import WORKERS
from ..folder.tables import Table
from ..plan.export_plan import Plan


class ExportOptions(Struct, metaclass=NamedFields, frozen=True, kw_only=True):
    """The options of `chatrest.export.export` that a folder and each part of many have, as it describes them.

    Raises `RequestInvalidError` where a value is wrong.
    """

    tables: Sequence[Table] = ()
    attachments: bool | AttachmentOptions = False
    only: bool = False
    change_plan: bool = False
    recheck: int | None = None
    workers: int = WORKERS

    def __post_init__(self) -> None:
        for name in ("only", "change_plan"):
            check(isinstance(getattr(self, name), bool), name, getattr(self, name), "True or False")
        if self.only and self.change_plan:
            raise RequestInvalidError("only = True: the plan stays as it is then: expected no change_plan")
        check_count("workers", self.workers)
        fits = isinstance(self.attachments or False, bool | AttachmentOptions)
        check(fits, "attachments", self.attachments, "True, False or AttachmentOptions")
        fits = self.recheck is None or (type(self.recheck) is int and self.recheck > 0)
        check(fits, "recheck", self.recheck, "a whole number of seconds from 1, or None")

    def check(self, session: AsyncSession, plan: object) -> None:
        """Refuse a session or a plan that do not go together with these, before anything is written."""
        check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
        if session.sender.acting_user is not None:
            raise RequestInvalidError(f"session = {session!r}: expected a session without as_user")
        if (self.only or self.change_plan) and plan is None:
            name = "only" if self.only else "change_plan"
            raise RequestInvalidError(f"{name} = True: expected a plan that names sources, or a window")


DEFAULTS: Final = ExportOptions()
