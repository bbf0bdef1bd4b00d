"""The base of every record of the service: frozen, without cycles, silent about credentials."""

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType

from ..secrets import masked
from .raw_json import read_value, write_value

T = TypeVar("T")

Maybe: TypeAlias = T | UnsetType | None
"""A field that the service may leave out: `UNSET` where it is absent, None where it is null."""

Json: TypeAlias = dict[str, Any]
"""A free-form JSON object, as it came."""


# Some servers send numbers for ids, and digits for numbers. To msgspec these types are parameters:
# `TextMessage` has text ids, and `TextMessage[int | str, int | str]` decodes into the same class, with ids as
# they were served. What is handed out has the types below alone, so a type checker sees no parameters.
if TYPE_CHECKING:
    Id: TypeAlias = str
    Count: TypeAlias = int

    class OfId: ...

    class OfCount: ...

    class OfIdAndCount: ...
else:
    Id = TypeVar("Id", bound=str)
    Count = TypeVar("Count", bound=int)
    OfId, OfCount, OfIdAndCount = Generic[Id], Generic[Count], Generic[Id, Count]


class Record(Struct, frozen=True, gc=False, rename="camel"):
    """A record of the service. `gc=False`: decoded JSON has no cycles, so the collector may pass it by."""

    fill_missing: ClassVar[bool] = True
    """The lenient decoder may put "" or 0 where a required text or number is absent."""
    identified_by: ClassVar[str] = "id"
    """The field that identifies a record in a list."""

    def to_dict(self) -> Json:
        """Return the record under the wire's names: absent members are left out, null is None.

        Credentials are in it: this is data, only a `repr` hides them.
        """
        record: Json = read_value(self.to_json())
        return record

    def to_json(self) -> bytes:
        """Return the record as JSON, which `chatrest.parse` reads again; as `to_dict` in all else."""
        return write_value(self)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({inner})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The fields that the service sent, credentials hidden: for `repr` and for rich."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [(name, masked(name, value)) for name, value in pairs if value is not UNSET]
