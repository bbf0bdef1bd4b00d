"""The handlers of all operations by the operation's name, gathered from the collections' files.

Each collection of `chatrest.resources.COLLECTIONS` has a module of its name here, with `HANDLERS` by the
operation's name; what needs several files gathers them there: `HANDLERS = {…} | rules.HANDLERS`.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from ...resources import COLLECTIONS
from .context import Handler

_PACKAGE: Final = __name__.rpartition(".")[0]


def _handlers(collection: str) -> Mapping[str, Handler]:
    handlers: Mapping[str, Handler] = import_module(f"{_PACKAGE}.{collection}").HANDLERS
    return handlers


HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {name: handler for each in COLLECTIONS for name, handler in _handlers(each).items()}
)
