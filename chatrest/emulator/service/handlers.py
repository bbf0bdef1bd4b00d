"""The handlers of all operations by the operation's name, gathered from the collections' files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import apps, auth_tokens, calls, conversations, members, messages, users
from .context import Handler

HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        name: handler
        for module in (apps, auth_tokens, calls, conversations, members, messages, users)
        for name, handler in module.HANDLERS.items()
    }
)
