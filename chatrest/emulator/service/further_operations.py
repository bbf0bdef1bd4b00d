"""Operations that the client reaches by `session.request` alone so far, and that the emulator serves too.

An operation that a collection of the client gets moves to that collection's file, and leaves this one.
"""

from typing import Any, Final

from ...core.decode import one
from ...core.endpoint import Endpoint
from ...models.message import Message

FURTHER_OPERATIONS: Final[tuple[Endpoint[Any], ...]] = (
    Endpoint("messages.get", "GET", "/messages/{id}", one(Message), acting="optional"),
)
