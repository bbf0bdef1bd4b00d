"""The habits of a compatible server, as values."""

from collections.abc import Mapping
from typing import Final, NamedTuple

APP_NAME: Final = "system"
"""The uid of the app itself as a sender."""
DEFAULT_SIZE: Final = 30
LARGEST_PAGE: Final = 100
PAGE_CAPS: Final = {"messages.list_reactions": 20, "messages.list_reaction": 20}
"""The largest page of a list, where it is not `LARGEST_PAGE`."""

COLLECTIONS: Final = frozenset(
    {
        "auth_tokens", "banned_users", "blocked_users", "conversations", "groups", "members", "messages",
        "users",
    }
)  # fmt: skip
"""The collections that are served."""
MESSAGE_LISTS: Final = frozenset(
    {
        "messages.list", "messages.list_user", "messages.list_group", "messages.list_thread",
        "messages.list_threads", "messages.list_threads_user", "messages.list_threads_group",
    }
)  # fmt: skip
WITHOUT_META: Final = frozenset({"users.list", "groups.list", "members.list", "banned_users.list"})
CREATIONS: Final = frozenset(
    {
        "auth_tokens.create", "groups.create", "messages.add_reaction", "messages.send",
        "messages.send_bot", "messages.send_thread", "users.create",
    }
)  # fmt: skip
"""The operations that answer 201."""
ABSENT_IS_EMPTY: Final = frozenset({"conversations.get", "conversations.get_user", "conversations.get_group"})
"""The operations that answer 200 with `{}` for a record that is not there."""

SIZES: Final = ("limit", "per_page")
"""The query parameters that give the size of a page."""
IGNORED: Final = frozenset({"perPage", "count"})
"""The query parameters that no list heeds."""
IGNORED_BY_MESSAGES: Final = frozenset({"toTimestamp", "types", "hideReplies", "searchKey"})
RENAMED: Final = {"cursorId": "id", "cursorValue": "id", "cursorAffix": "affix"}
"""The query parameters of reaction lists, and the documented ones."""


class OtherError(NamedTuple):
    """The error that stands for a documented one."""

    status: int
    code: str


ERRORS: Final[Mapping[str, OtherError]] = {
    "ERR_MESSAGE_ID_NOT_FOUND": OtherError(400, "ERR_MESSAGE_NOT_FOUND"),
    "ERR_API_NOT_FOUND": OtherError(404, "ERR_ROUTE_NOT_FOUND"),
}
