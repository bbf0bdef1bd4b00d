"""The error of a misspelt argument, field or command names the nearest one."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from msgspec import StructMeta
from msgspec.structs import fields

_SHOWN: Final = 5


def nearest(name: str, known: Collection[str]) -> str:
    """Return the hint at the name that was probably meant; empty if none is near."""
    from difflib import get_close_matches  # 6 ms, and only a mistake needs it

    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class NamedFields(StructMeta):
    """The metaclass of structs that users make: a call with wrong names says which, and names the nearest.

    msgspec's own error for a misspelt field names no other one.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, a metaclass
            try:
                return StructMeta.__call__(cls, *args, **kwargs)
            except TypeError as error:
                failure = TypeError(_call_fault(cls, len(args), kwargs.keys()) or str(error))
            finally:
                del args, kwargs  # no frame of the error holds a value: it may be a credential
            raise failure


def _call_fault(cls: Any, positional: int, names: Collection[str]) -> str:
    """Return what is wrong with the names of a call; empty if they are not the cause of an error."""
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
