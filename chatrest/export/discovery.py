"""Requests of an export beside its lists: the newest message, the users, and a check of an empty list."""

from collections.abc import AsyncIterator

from ..errors import BadRequestError, ChatRestError, CursorError, NotFoundError, PermissionDeniedError
from ..models.message import Message
from ..queries.messages import MessageQuery
from ..queries.users import UserQuery
from ..session import AsyncSession
from .file_names import MILLISECONDS
from .ownership import Source

GOES_BACKWARDS = "goes_backwards"
"""In the journal's meta: the app's own list was seen to begin with its newest message where asked for it."""
_ASKED = 3
"""Users whose lists are looked into where the app's own list is empty."""


async def newest(session: AsyncSession) -> Message | None:
    """Return the newest message of the app: one request. None where the service does not tell."""
    walk = session.messages.list(query=MessageQuery(affix="prepend")).limit(1)
    try:
        messages = await walk.collect()
    except (NotFoundError, PermissionDeniedError, BadRequestError):
        return None  # a key, or a service, without the app's own list
    return messages[0] if messages else None


async def goes_backwards(session: AsyncSession, newest: Message) -> bool:
    """Return True where the app's own list shows no message behind `newest`: one or two requests.

    A service that does not heed `affix=prepend` shows old messages as the newest ones. One that does not heed
    `id` either shows the beginning of the list here, which proves nothing.
    """
    query = MessageQuery(affix="append", id=newest.id)
    try:
        messages = await session.messages.list(query=query).limit(1).collect()
    except (NotFoundError, PermissionDeniedError, BadRequestError, CursorError):
        return False
    return all(message.id == newest.id for message in messages)


async def users(session: AsyncSession) -> AsyncIterator[Source]:
    """Every user of the app as a source, those that are switched off, too."""
    async for user in session.users.list(UserQuery(with_deactivated=True)).thorough():
        yield Source("user", (user.uid,))


async def user_with_messages(session: AsyncSession, query: MessageQuery) -> str | None:
    """Return one of the app's first users whose list has a message: a few requests; None where none has."""
    try:
        async for user in session.users.list(UserQuery(with_deactivated=True)).limit(_ASKED):
            if await session.messages.list_user(user.uid, query=query).limit(1).collect():
                return user.uid
    except ChatRestError:
        return None  # this is a hint, and not what the export is about
    return None


def ago(end: int, seconds: int) -> int:
    """Return the timestamp so many seconds before another one, in its unit."""
    return max(0, end - seconds * (1000 if end >= MILLISECONDS else 1))
