"""What every record of the service has in common: frozen, without cycles, silent about credentials."""

from typing import Any, ClassVar, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType

from ..secrets import masked

T = TypeVar("T")

Maybe: TypeAlias = T | UnsetType | None
"""A field that the service may leave out: `UNSET` where it is absent, None where it is null."""

Json: TypeAlias = dict[str, Any]
"""A free-form JSON object, as it came."""


class Record(Struct, frozen=True, gc=False, rename="camel"):
    """A record of the service. `gc=False`: decoded JSON has no cycles, so the collector may pass it by."""

    fill_missing: ClassVar[bool] = True
    """Whether the lenient decoder may put "" or 0 where a required text or number is absent."""
    identified_by: ClassVar[str] = "id"
    """The field that tells one record of a list from another."""

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({inner})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The fields that the service sent, credentials hidden: for `repr` and for rich."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [(name, masked(name, value)) for name, value in pairs if value is not UNSET]
