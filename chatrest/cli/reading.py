"""`messages`, `users`, `apps`: lists, a JSON line per record."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import click
import msgspec

from ..core.cursor import Cursor
from ..core.lenient import whole
from ..core.rows import AsRows
from ..errors import ChatRestError
from ..queries.apps import AppQuery
from ..queries.messages import MessageQuery
from ..queries.users import UserQuery
from ..resources.apps import Apps
from ..resources.messages import Messages
from ..resources.users import Users
from ..secrets import scrub_all
from ..walk import Walk
from . import streams
from .environment import management, session
from .filters import Listing, filtered_by, query_of
from .meter import counting
from .running import run

_LIMIT: Final = click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", help="Print no more than N.  [default: all]"
)
_CURSOR: Final = click.option(
    "--cursor",
    metavar="TOKEN",
    help="Go on where an earlier run stopped; it said the token. The filters must be the same.",
)
_STOPS: Final = (ChatRestError, OSError, KeyboardInterrupt, asyncio.CancelledError)


class Stream:
    """A walk on its way to standard output, and the place up to which all of it is written."""

    def __init__(self, what: str, *, shown: Callable[[bytes], bytes] = bytes) -> None:
        self._what = what
        self._shown = shown
        self._written: Cursor | None = None

    def run(self, work: Callable[["Stream"], Any]) -> None:
        """Runs `work`; where it stops before its end, the error says how to go on."""
        try:
            run(work(self))
        except _STOPS as error:
            if self._written is not None:
                error.add_note(f"go on with the same command and --cursor {self._written}")
            raise

    async def write(self, walk: Walk[Any], limit: int | None) -> None:
        """Writes the walk, page by page; the place moves only after a page is written."""
        with counting(self._what) as count:
            async for page in (walk if limit is None else walk.limit(limit)).pages():
                lines = [self._shown(bytes(row.raw)) for row in page.items]
                streams.write(b"".join(b"%b\n" % line for line in lines))
                self._written = page.cursor
                count(len(lines))


@click.command(cls=Listing, short_help="Prints the messages of a user, a JSON line each.")
@click.argument("uid")
@click.option("--on-behalf-of", metavar="UID", help="The other side: the messages between this user and UID.")
@_LIMIT
@_CURSOR
@filtered_by(MessageQuery)
def messages(uid: str, on_behalf_of: str | None, limit: int | None, cursor: str | None, **given: Any) -> None:
    """Prints the messages of UID, a JSON line each, exactly as the service has them.

    Where a run is interrupted or fails, its last line on standard error says how to go on.

    \b
    Examples:
      chatrest messages bob --on-behalf-of alice > talk.jsonl
      chatrest messages bob --on-behalf-of alice --affix append --limit 10
      chatrest messages bob --search-key invoice --has-attachments | jq .data.text
    """

    async def work(stream: Stream) -> None:
        query = query_of(MessageQuery, given)
        async with session() as chat:
            lists = Messages(AsRows(chat.sender))
            walk = lists.list_user(uid, on_behalf_of=on_behalf_of, query=query, cursor=cursor)
            await stream.write(walk, limit)

    Stream("messages").run(work)


@click.command(cls=Listing, short_help="Prints the users of the app, a JSON line each.")
@_LIMIT
@_CURSOR
@filtered_by(UserQuery)
def users(limit: int | None, cursor: str | None, **given: Any) -> None:
    """Prints the users of the app, a JSON line each, exactly as the service has them.

    \b
    Examples:
      chatrest users > users.jsonl
      chatrest users --status available --role moderator
      chatrest users --search-key al --search-in name --limit 5
    """

    async def work(stream: Stream) -> None:
        query = query_of(UserQuery, given)
        async with session() as chat:
            await stream.write(Users(AsRows(chat.sender)).list(query, cursor=cursor), limit)

    Stream("users").run(work)


@click.command(cls=Listing, short_help="Prints the applications of the account, a JSON line each.")
@_LIMIT
@_CURSOR
@filtered_by(AppQuery)
def apps(limit: int | None, cursor: str | None, **given: Any) -> None:
    """Prints the applications of the account, a JSON line each; keys among their members are hidden.

    Reads CHATREST_MANAGEMENT_URL, CHATREST_MANAGEMENT_KEY and CHATREST_MANAGEMENT_SECRET.

    \b
    Example:
      chatrest apps | jq -r .id
    """

    async def work(stream: Stream) -> None:
        query = query_of(AppQuery, given)
        async with management() as account:
            await stream.write(Apps(AsRows(account.sender)).list(query, cursor=cursor), limit)

    Stream("apps", shown=_without_keys).run(work)


def _without_keys(record: bytes) -> bytes:
    return msgspec.json.encode(scrub_all(whole(record), ()))
