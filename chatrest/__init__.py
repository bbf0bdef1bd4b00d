"""chatrest: an asyncio client library for the REST service of a hosted chat platform.

The public names are imported when they are first used (PEP 562): `import chatrest` is fast, and the structs,
filters and errors do not import aiohttp.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.cursor import Cursor as Cursor
    from .core.decode import parse as parse
    from .core.hosts import App as App
    from .core.pacer import Pace as Pace
    from .core.retry import RetryPolicy as RetryPolicy
    from .core.timeouts import Timeouts as Timeouts
    from .errors import (
        ApiError as ApiError,
        AuthenticationError as AuthenticationError,
        BadRequestError as BadRequestError,
        ChatRestError as ChatRestError,
        ConflictError as ConflictError,
        ConnectError as ConnectError,
        CursorError as CursorError,
        DeadlineExceededError as DeadlineExceededError,
        DeadlineOutcomeUnknownError as DeadlineOutcomeUnknownError,
        NotFoundError as NotFoundError,
        OutcomeUnknownError as OutcomeUnknownError,
        PermissionDeniedError as PermissionDeniedError,
        RateLimitError as RateLimitError,
        ReplyUnreadableError as ReplyUnreadableError,
        RequestInvalidError as RequestInvalidError,
        RequestTimeoutError as RequestTimeoutError,
        ServerError as ServerError,
        ServerOutcomeUnknownError as ServerOutcomeUnknownError,
        TransportError as TransportError,
    )
    from .management import AsyncManagement as AsyncManagement
    from .models.app import AppInfo as AppInfo
    from .models.call_record import CallRecord as CallRecord, Transcription as Transcription
    from .models.conversation import Conversation as Conversation, ConversationParty as ConversationParty
    from .models.count import MessageCount as MessageCount
    from .models.member import (
        AddedMember as AddedMember,
        Member as Member,
        MemberScope as MemberScope,
    )
    from .models.message import (
        ActionMessage as ActionMessage,
        CallMessage as CallMessage,
        CustomMessage as CustomMessage,
        InteractiveMessage as InteractiveMessage,
        MediaMessage as MediaMessage,
        Message as Message,
        TextMessage as TextMessage,
        UnknownMessage as UnknownMessage,
    )
    from .models.outcome import Ack as Ack, Outcomes as Outcomes
    from .models.reaction import Reaction as Reaction
    from .models.sent_message import SentMessage as SentMessage
    from .models.user import AuthToken as AuthToken, User as User
    from .queries.apps import AppQuery as AppQuery
    from .queries.calls import CallQuery as CallQuery, TranscriptionQuery as TranscriptionQuery
    from .queries.conversations import (
        ConversationPin as ConversationPin,
        ConversationQuery as ConversationQuery,
    )
    from .queries.files import File as File
    from .queries.members import MemberQuery as MemberQuery, NewMembers as NewMembers
    from .queries.messages import (
        MessageQuery as MessageQuery,
        MessageUpdate as MessageUpdate,
        ThreadQuery as ThreadQuery,
    )
    from .queries.new_messages import (
        InteractionGoal as InteractionGoal,
        MultipleReceivers as MultipleReceivers,
        NewAttachment as NewAttachment,
        NewBotMessage as NewBotMessage,
        NewMessage as NewMessage,
        NewThreadMessage as NewThreadMessage,
    )
    from .queries.users import UserQuery as UserQuery
    from .session import AsyncSession as AsyncSession
    from .times import to_datetime as to_datetime
    from .walk import Page as Page, Walk as Walk

__version__ = "0.1.0"

_HOMES = {
    "core.cursor": "Cursor",
    "core.decode": "parse",
    "core.hosts": "App",
    "core.pacer": "Pace",
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
    "models.call_record": "CallRecord Transcription",
    "models.conversation": "Conversation ConversationParty",
    "models.count": "MessageCount",
    "models.member": "AddedMember Member MemberScope",
    "models.message": (
        "ActionMessage CallMessage CustomMessage InteractiveMessage MediaMessage Message TextMessage "
        "UnknownMessage"
    ),
    "models.outcome": "Ack Outcomes",
    "models.reaction": "Reaction",
    "models.sent_message": "SentMessage",
    "models.user": "AuthToken User",
    "queries.apps": "AppQuery",
    "queries.files": "File",
    "queries.calls": "CallQuery TranscriptionQuery",
    "queries.conversations": "ConversationPin ConversationQuery",
    "queries.members": "MemberQuery NewMembers",
    "queries.messages": "MessageQuery MessageUpdate ThreadQuery",
    "queries.new_messages": (
        "InteractionGoal MultipleReceivers NewAttachment NewBotMessage NewMessage NewThreadMessage"
    ),
    "queries.users": "UserQuery",
    "session": "AsyncSession",
    "times": "to_datetime",
    "walk": "Page Walk",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


if not TYPE_CHECKING:  # or a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
