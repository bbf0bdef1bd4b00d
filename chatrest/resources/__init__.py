"""The service's collections, a file each: their endpoints, and their class. `OPERATIONS` is the one table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ..core.endpoint import Endpoint
from . import apps, auth_tokens, calls, conversations, members, messages, users

OPERATIONS: Final[Mapping[str, Endpoint[Any]]] = MappingProxyType(
    {
        endpoint.name: endpoint
        for module in (apps, auth_tokens, calls, conversations, members, messages, users)
        for endpoint in vars(module).values()
        if isinstance(endpoint, Endpoint)
    }
)
"""Every operation by its name, `collection.operation`."""
