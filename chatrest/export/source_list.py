"""The sources of a run: those that the plan names, and the users that the service lists."""

from typing import Final, final

from ..errors import ChatRestError, CursorError, NotFoundError
from ..session import AsyncSession
from .archive import Archive
from .discovery import users
from .journal import SourceState
from .ownership import OwnershipRules, Source
from .progress import Progress

_NO_USER: Final = "ERR_UID_NOT_FOUND"


@final
class SourceList:
    """The sources of a run, as the journal knows them."""

    def __init__(self, session: AsyncSession, archive: Archive, progress: Progress) -> None:
        self._session = session
        self._archive = archive
        self._progress = progress
        self._listed: set[Source] = set()
        self.rules: OwnershipRules = OwnershipRules()
        self.known: list[SourceState] = []
        """Those that are read: what the plan asks for, without users that were deleted."""
        self.fault: str | None = None
        """The reason why the users are not known to be all, if that is so."""

    async def learn(self, by_time: set[int]) -> None:
        """Note the sources of the plan, and ask for the users where all of them are wanted.

        `by_time` are the numbers of sources that were seen to go by time: later runs have to know.
        """
        plan, journal = self._archive.plan, self._archive.journal
        self._listed = set(plan.sources)
        if plan.all_users:
            await self._list_users()
        returned = [
            known.number
            for known in journal.sources()
            if known.state == "deleted_user" and known.source in self._listed
        ]
        with journal.transaction():
            # In an order that is the same whichever page a user was on.
            journal.add_sources([*plan.sources, *sorted(self._listed, key=str)])
            users = (known.source for known in journal.sources() if known.source.kind == "user")
            journal.set_asked([*plan.sources, *(users if plan.all_users else ())])
            for number in by_time:
                journal.set_by_time(number)
        self._archive.look_again(returned)
        self.refresh()

    def refresh(self) -> None:
        """Read the states of the sources from the journal again."""
        journal = self._archive.journal
        self.known = [each for each in journal.sources() if each.asked and each.state != "deleted_user"]
        for each in self.known:
            self.rules.add(each.source)
        self._progress.sources = len(self.known)

    async def _list_users(self) -> None:
        self.fault = None
        try:
            async for source in users(self._session):
                self._listed.add(source)
                self._progress.sources = len(self._listed)
        except CursorError as error:
            # What was listed is read; whether there are more users cannot be told.
            self.fault = f"the list of users could not be read to its end: {error}"

    @property
    def kept(self) -> list[str]:
        """Sources that earlier runs have read, and that the plan does not ask for any more."""
        return [str(each.source) for each in self._archive.journal.sources() if not each.asked]

    def lists(self, known: SourceState) -> bool:
        """Return whether the plan or the service names a source in this run."""
        return known.source in self._listed

    def is_deleted(self, known: SourceState, error: ChatRestError | None) -> bool:
        """Return whether a source is a user that was deleted or switched off: its list cannot be read.

        A user that is switched off may still be listed; then the service has to say that it is the user that
        it does not have (error codes: "no such user or switched off"), and not only that there is no list.
        """
        if known.state == "deleted_user":
            return True
        if not isinstance(error, NotFoundError):
            return False
        is_named = known.source in self._archive.plan.sources
        return known.source not in self._listed or (not is_named and error.code == _NO_USER)
