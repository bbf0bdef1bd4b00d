"""The handlers of all operations by the operation's name, gathered from the files that have `HANDLERS`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import (
    agent_knowledge,
    agent_tools,
    agents,
    apps,
    calls,
    conversations,
    credentials,
    data_import,
    groups,
    message_changes,
    messages,
    metrics,
    moderation,
    moderation_messages,
    notifications,
    relations,
    roles,
    sending,
    users,
)
from .context import Handler

_FILES: Final = (
    agent_knowledge, agent_tools, agents, apps, calls, conversations, credentials, data_import, groups,
    message_changes, messages, metrics, moderation, moderation_messages, notifications, relations, roles,
    sending, users,
)  # fmt: skip
HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {name: handler for file in _FILES for name, handler in file.HANDLERS.items()}
)
