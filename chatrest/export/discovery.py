"""What an export asks of the service beside its sources: where they end, and which users there are."""

from collections.abc import AsyncIterator

from ..errors import BadRequestError, NotFoundError, PermissionDeniedError
from ..models.message import Message
from ..queries.messages import MessageQuery
from ..queries.users import UserQuery
from ..session import AsyncSession
from .file_names import MILLISECONDS
from .ownership import Source


async def newest(session: AsyncSession) -> Message | None:
    """The newest message of the app: one request. None where the service does not tell."""
    walk = session.messages.list(query=MessageQuery(affix="prepend")).limit(1)
    try:
        found = await walk.collect()
    except (NotFoundError, PermissionDeniedError, BadRequestError):
        return None  # a key, or a service, without the app's own list
    return found[0] if found else None


async def users(session: AsyncSession) -> AsyncIterator[Source]:
    """Every user of the app as a source, those that are switched off, too."""
    async for user in session.users.list(UserQuery(with_deactivated=True)).thorough():
        yield Source("user", (user.uid,))


def ago(end: int, seconds: int) -> int:
    """The timestamp so many seconds before another one, in its unit."""
    return max(0, end - seconds * (1000 if end >= MILLISECONDS else 1))
