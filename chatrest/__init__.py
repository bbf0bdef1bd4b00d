"""chatrest: the asyncio client library of a hosted chat platform's REST service.

The public names are here, and load when they are first used (PEP 562): `import chatrest` alone is cheap,
and the structs, filters and errors never bring in the network.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.cursor import Cursor as Cursor
    from .core.hosts import App as App
    from .core.pace import Pace as Pace
    from .core.retry import RetryPolicy as RetryPolicy
    from .core.timeouts import Timeouts as Timeouts
    from .errors import (
        ApiError as ApiError,
    )
    from .errors import (
        AuthenticationError as AuthenticationError,
    )
    from .errors import (
        BadRequestError as BadRequestError,
    )
    from .errors import (
        ChatRestError as ChatRestError,
    )
    from .errors import (
        ConflictError as ConflictError,
    )
    from .errors import (
        ConnectError as ConnectError,
    )
    from .errors import (
        CursorError as CursorError,
    )
    from .errors import (
        DeadlineExceededError as DeadlineExceededError,
    )
    from .errors import (
        DeadlineOutcomeUnknownError as DeadlineOutcomeUnknownError,
    )
    from .errors import (
        NotFoundError as NotFoundError,
    )
    from .errors import (
        OutcomeUnknownError as OutcomeUnknownError,
    )
    from .errors import (
        PermissionDeniedError as PermissionDeniedError,
    )
    from .errors import (
        RateLimitError as RateLimitError,
    )
    from .errors import (
        ReplyUnreadableError as ReplyUnreadableError,
    )
    from .errors import (
        RequestInvalidError as RequestInvalidError,
    )
    from .errors import (
        RequestTimeoutError as RequestTimeoutError,
    )
    from .errors import (
        ServerError as ServerError,
    )
    from .errors import (
        ServerOutcomeUnknownError as ServerOutcomeUnknownError,
    )
    from .errors import (
        TransportError as TransportError,
    )
    from .management import AsyncManagement as AsyncManagement
    from .models.app import AppInfo as AppInfo
    from .models.message import (
        ActionMessage as ActionMessage,
    )
    from .models.message import (
        CallMessage as CallMessage,
    )
    from .models.message import (
        CustomMessage as CustomMessage,
    )
    from .models.message import (
        MediaMessage as MediaMessage,
    )
    from .models.message import (
        Message as Message,
    )
    from .models.message import (
        TextMessage as TextMessage,
    )
    from .models.message import (
        UnknownMessage as UnknownMessage,
    )
    from .models.user import AuthToken as AuthToken
    from .models.user import User as User
    from .queries import AppQuery as AppQuery
    from .queries import MessageQuery as MessageQuery
    from .queries import UserQuery as UserQuery
    from .resources.messages import NewMessage as NewMessage
    from .session import AsyncSession as AsyncSession
    from .walk import Page as Page
    from .walk import Walk as Walk

__version__ = "0.1.0"

_HOMES = {
    "core.cursor": "Cursor",
    "core.hosts": "App",
    "core.pace": "Pace",
    "core.retry": "RetryPolicy",
    "core.timeouts": "Timeouts",
    "errors": (
        "ApiError AuthenticationError BadRequestError ChatRestError ConflictError ConnectError CursorError "
        "DeadlineExceededError DeadlineOutcomeUnknownError NotFoundError OutcomeUnknownError "
        "PermissionDeniedError RateLimitError ReplyUnreadableError RequestInvalidError RequestTimeoutError "
        "ServerError ServerOutcomeUnknownError TransportError"
    ),
    "management": "AsyncManagement",
    "models.app": "AppInfo",
    "models.message": (
        "ActionMessage CallMessage CustomMessage MediaMessage Message TextMessage UnknownMessage"
    ),
    "models.user": "AuthToken User",
    "queries": "AppQuery MessageQuery UserQuery",
    "resources.messages": "NewMessage",
    "session": "AsyncSession",
    "walk": "Page Walk",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
