"""The class of checked structs: what `help` says of them, and what a call with wrong names says.

msgspec's own signature writes the rule of each field out, eight kilobytes of regular expressions for the
largest, and its error for a misspelt field names no other one.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, StructMeta
from msgspec.structs import fields

_SHOWN: Final = 5
_OF_EVERY_STRUCT: Final = frozenset(dir(Struct)) - {"__class__", "__doc__", "__init__", "__module__"}


class CheckedType(StructMeta):
    """The metaclass of checked structs. Type checkers see that of msgspec: they know the fields from it."""

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, a metaclass
            try:
                return StructMeta.__call__(cls, *args, **kwargs)
            except TypeError as error:
                failure = TypeError(_call_fault(cls, len(args), kwargs.keys()) or str(error))
            finally:
                del args, kwargs  # no frame of the error holds a value: it may be a credential
            raise failure

        def __dir__(cls) -> list[str]:  # noqa: N805
            """The names of the class, without the methods of every struct, in which `help` would drown."""
            return sorted(set(super().__dir__()) - _OF_EVERY_STRUCT)

        @property
        def __signature__(cls) -> Any:  # noqa: N805
            """The fields with their plain types, for `help` and editors."""
            return _signature(cls)

        @property
        def __doc__(cls) -> str:  # noqa: N805
            """The class's own words, and a line a field: its meaning, and what it may hold."""
            return _documentation(cls, vars(cls).get("__doc__") or "")


def _signature(cls: Any) -> Any:
    from inspect import Parameter, Signature  # 10 ms, and only help needs it
    from typing import get_type_hints

    hints = get_type_hints(cls)
    parameters = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.required else field.default,
            annotation=hints[field.name],
        )
        for field in fields(cls)
    ]
    return Signature(parameters)


def _documentation(cls: Any, own: str) -> str:
    from inspect import cleandoc

    from .meanings import meaning

    lines = []
    for field in fields(cls):
        mark = "*" if field.required else ""
        words = "; ".join(filter(None, (meaning(cls, field.name), cls.allowed(field.name))))
        lines.append(f"  {field.name}{mark}: {words}")
    head = ["", "Fields (* is required):"] if lines else []
    return "\n".join([cleandoc(own), *head, *lines])


def _call_fault(cls: Any, positional: int, names: Collection[str]) -> str:
    """Return what is wrong with the names of a call; empty where they are not the cause of an error."""
    known = {field.name: field for field in fields(cls)}
    faults = []
    if positional:
        more = ", …" if len(known) > _SHOWN else ""
        faults.append(f"takes its fields by name ({', '.join(list(known)[:_SHOWN])}{more})")
    faults += [f"has no field {name!r}{nearest(name, known)}" for name in names if name not in known]
    missing = [name for name, field in known.items() if field.required and name not in names]
    if missing:
        faults.append(f"needs {', '.join(missing)}")
    return f"{cls.__name__} {', and '.join(faults)}" if faults else ""


def nearest(name: str, known: Collection[str]) -> str:
    """Return the hint at the name that was probably meant; empty where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
