"""The body of an operation whose `media` is `multipart`: a struct as the parts of a form.

A text or number is a part, true and false are written out, a list is a part of the same name for each of its
items, and an object is JSON. No file is opened here: the transport does it when the form is sent.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, json

from ..._parameters.files import File
from ..._secrets import description
from ...errors import RequestInvalidError
from .encode import filter_values


class Form(Struct, frozen=True):
    """The parts of a form by name, in their order; a name may occur several times."""

    parts: tuple[tuple[str, str | File], ...]

    def __repr__(self) -> str:
        return f"<Form of {len(self.parts)} parts>"

    @property
    def files(self) -> tuple[File, ...]:
        """The files among the parts."""
        return tuple(value for _, value in self.parts if isinstance(value, File))

    @property
    def is_spent(self) -> bool:
        """True if a file of it has been read and cannot be rewound: the form cannot be sent again."""
        return any(file.is_spent for file in self.files)


def form(body: Struct | Mapping[str, Any]) -> Form:
    """Return the form of a body's members that are neither None nor UNSET.

    Raises `RequestInvalidError` for a value that a form cannot hold.
    """
    values = body if isinstance(body, Mapping) else filter_values(body) or {}
    return Form(tuple((name, part) for name, value in values.items() for part in _parts(name, value)))


def _parts(name: str, value: Any) -> Iterator[str | File]:
    if isinstance(value, str | File):
        yield value
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _parts(name, item)
    elif isinstance(value, Mapping | Struct):
        yield json.encode(value).decode()
    else:
        raise RequestInvalidError(
            f"{name} = {description(value)}: expected a text, a number, a boolean, a file, "
            "a JSON object, or a list of these"
        )
