"""The service's collections: the endpoints and the class of each. `OPERATIONS` is the one table.

- `collection`: the base class, and how a call and a walk are made of an endpoint;
- `sent_messages`: replies to several receivers, and the search for a message that was sent;
- `agent_knowledge`: the base class of `Agents` with the operations of knowledge;
- the other modules have one collection or several, see `COLLECTIONS`.

To add a collection, add a line to `COLLECTIONS` and one to `session.py`. Its class has its name in CamelCase
(`api_keys`, `ApiKeys`). Its endpoints are those of the class's module and of the modules of its bases.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, final, overload

from .._core.requests.endpoint import Endpoint

if TYPE_CHECKING:
    from .collection import Collection

C = TypeVar("C", bound="Collection")

COLLECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "users": "users",
        "messages": "messages",
        "groups": "groups",
        "members": "groups",
        "conversations": "conversations",
        "auth_tokens": "users",
        "friends": "users",
        "blocked_users": "users",
        "banned_users": "groups",
        "calls": "calls",
        "moderation": "moderation",
        "notifications": "notifications",
        "roles": "roles",
        "rbac": "roles",
        "restricted_features": "roles",
        "metrics": "apps",
        "data_import": "data_import",
        "webhooks": "webhooks",
        "triggers": "webhooks",
        "apps": "apps",
        "api_keys": "apps",
        "agents": "agents",
    }
)
"""The module of each collection; those that are used most are first, as in the list of all operations."""


@final
class OperationTable(Mapping[str, Endpoint[Any]]):
    """Every operation by its name, `collection.operation`; a collection is loaded when it is first needed."""

    def __getitem__(self, name: str) -> Endpoint[Any]:
        collection = name.partition(".")[0]
        if collection not in COLLECTIONS:
            raise KeyError(name)
        return _endpoints(collection)[name]

    def __iter__(self) -> Iterator[str]:
        for collection in COLLECTIONS:
            yield from _endpoints(collection)

    def __len__(self) -> int:
        return sum(len(_endpoints(collection)) for collection in COLLECTIONS)


@cache
def _endpoints(collection: str) -> Mapping[str, Endpoint[Any]]:
    """Return the endpoints of a collection: constants of the modules of its class, or in tuples there.

    A constant that begins with an underscore is a variant of another operation.
    """
    modules = dict.fromkeys(kind.__module__ for kind in collection_class(collection).__mro__)
    members = (member for module in modules for member in vars(sys.modules[module]).items())
    constants = (value for name, value in members if not name.startswith("_"))
    values = (value for each in constants for value in (each if isinstance(each, tuple) else (each,)))
    return {
        endpoint.name: endpoint
        for endpoint in values
        if isinstance(endpoint, Endpoint) and endpoint.name.startswith(f"{collection}.")
    }


def collection_class(name: str) -> "type[Collection]":
    """Return the class of the collection of this name, such as `ApiKeys` for `api_keys`; load its module."""
    class_name = "".join(word.capitalize() for word in name.split("_"))
    kind: type[Collection] = getattr(import_module(f"{__name__}.{COLLECTIONS[name]}"), class_name)
    return kind


OPERATIONS: Final[Mapping[str, Endpoint[Any]]] = OperationTable()
"""Every operation by its name, `collection.operation`."""


class LazyCollection(Generic[C]):
    """An attribute of a session that is a collection: made when it is first used, and kept for its life.

    It has the collection's name; its annotation names the class for type checkers alone. The session has a
    `sender`; it is not a protocol, as type checkers disagree on a `cached_property` in one.
    """

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, session: None, owner: type[Any]) -> "LazyCollection[C]": ...

    @overload
    def __get__(self, session: Any, owner: type[Any]) -> C: ...

    def __get__(self, session: Any, owner: type[Any]) -> "LazyCollection[C] | C":
        if session is None:
            return self
        kind = collection_class(self._name)
        collection = session.__dict__[self._name] = cast("C", kind(session.sender))
        return collection

    def __repr__(self) -> str:
        kind = collection_class(self._name)
        count = sum(not name.startswith("_") for name in dir(kind))
        return f"<{kind.__name__}: {count} operations, see help(session.{self._name})>"
