"""The functions of the decoder that records use, each loaded by its name when it is first needed.

The decoder is above the models, and a program that only makes or reads records never loads it.
"""

from functools import cache
from importlib import import_module
from typing import Any


@cache
def _decoder(module: str, name: str) -> Any:
    return getattr(import_module(f"chatrest.core.{module}"), name)


def nested_message(stored: object) -> Any:
    """Return the message of its stored JSON, typed as in a list."""
    return _decoder("replies.kinds", "message_of")(stored)


def parsed(kind: type, data: object) -> Any:
    """Return the record of type `kind` of its JSON, as `chatrest.parse` does; errors as there."""
    return _decoder("replies.decode", "parse")(kind, data)
