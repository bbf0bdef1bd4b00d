"""The service's collections, a file each: its endpoints, and its class. `OPERATIONS` is the one table.

To add a collection: its name in `COLLECTIONS`, and a line in `session.py` (or `management.py`). Its module
here has that name, and its class has it in CamelCase (`api_keys`, `ApiKeys`); its handlers in
`emulator/service` are by operation. A collection that needs several files is a package: the endpoints of all
its modules count.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, final

from ..core.requests.endpoint import Endpoint

COLLECTIONS: Final = (
    "agents",
    "api_keys",
    "apps",
    "auth_tokens",
    "banned_users",
    "blocked_users",
    "calls",
    "conversations",
    "data_import",
    "friends",
    "groups",
    "members",
    "messages",
    "metrics",
    "moderation",
    "notifications",
    "rbac",
    "restricted_features",
    "roles",
    "triggers",
    "users",
    "webhooks",
)
"""The names of all collections, in the order of the alphabet."""


@final
class Operations(Mapping[str, Endpoint[Any]]):
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
    """Return the endpoints of a collection's module, or of all modules of its package."""
    module = import_module(f"{__name__}.{collection}")
    inner = [import_module(f"{module.__name__}.{name}") for name in _submodules(module)]
    values = (value for each in (module, *inner) for value in vars(each).values())
    return {
        endpoint.name: endpoint
        for endpoint in values
        if isinstance(endpoint, Endpoint) and endpoint.name.startswith(f"{collection}.")
    }


def _submodules(module: Any) -> Iterable[str]:
    return [info.name for info in iter_modules(getattr(module, "__path__", ()))]


OPERATIONS: Final[Mapping[str, Endpoint[Any]]] = Operations()
"""Every operation by its name, `collection.operation`."""
