"""The base class of all records of the service: immutable, with a repr that hides credentials."""

from collections.abc import Callable, Iterator
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, TypeVar, dataclass_transform

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import fields

from .._secrets import TOO_DEEP, repr_fields
from .._struct_help import StructHelp
from ..errors import ReplyUnreadableError
from .raw_json import read_value, write_value

T = TypeVar("T")
S = TypeVar("S", bound=type[Any])

_DIGEST_BYTES: Final = 16
_MAX_COUNT: Final = 40

Maybe: TypeAlias = T | UnsetType | None
"""A field that the service may leave out: `UNSET` if it is absent, None if it is null."""

Json: TypeAlias = dict[str, Any]
"""A JSON object of any shape, as served."""


class _NoText(StrEnum):
    """The default of a text that is "" if it is absent."""

    ABSENT = ""
    __repr__ = str.__repr__


class _NoNumber(IntEnum):
    """The default of a number that is 0 if it is absent."""

    ABSENT = 0
    __repr__ = int.__repr__


# msgspec leaves out a member that is its default object, but writes an equal value: absent texts and numbers
# are left out, and a "" or 0 that was served is written.
NO_TEXT: Final[str] = _NoText.ABSENT
NO_NUMBER: Final[int] = _NoNumber.ABSENT


def is_absent(value: object) -> bool:
    """Return True for the value of a member that the service did not send."""
    return value is UNSET or value is NO_TEXT or value is NO_NUMBER


# Some servers send numbers for ids, and digits for numbers. For msgspec these types are parameters:
# `TextMessage` has text ids, and `TextMessage[int | str, int | str]` decodes into the same class with ids as
# served. Callers only get objects with the types below, so type checkers see no parameters.
if TYPE_CHECKING:
    Id: TypeAlias = str
    Count: TypeAlias = int

    class WithId: ...

    class WithCount: ...

    class WithIdAndCount: ...
else:
    Id = TypeVar("Id", bound=str)
    Count = TypeVar("Count", bound=int)
    WithId, WithCount, WithIdAndCount = Generic[Id], Generic[Count], Generic[Id, Count]


def digest(credential: str) -> str:
    """Return the first half of the SHA-256 of a credential, as hexadecimal digits: its identity in a cursor.

    Credentials of this service are long and random, so a digest does not lead back to them.
    """
    from hashlib import sha256  # 2 ms, and only a list of credentials needs it

    return sha256(credential.encode(errors="surrogatepass")).hexdigest()[: 2 * _DIGEST_BYTES]


class _Identifier:
    def __get__(self, record: object, kind: type[Struct]) -> str:
        required = next((each.name for each in fields(kind) if each.required), "id")
        return "identity" if hasattr(kind, "identity") else required


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record(Struct, metaclass=StructHelp, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A record of the service. `gc=False`: decoded JSON has no reference cycles to collect."""

    identified_by: ClassVar[str] = _Identifier()  # type: ignore[assignment]
    """The attribute that identifies a record in a list: its `identity`, else its first required field.

    A cursor holds the identities of the records at a page's end, and travels through browsers and logs. So a
    record that only a credential identifies has an `identity`, which is `digest(self.api_key)`.
    """

    hidden_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that may hold a credential without its name, such as headers: a repr does not show them."""

    def to_dict(self) -> Json:
        """Return the record with the names of its JSON; absent members are left out, null is None.

        The result contains credentials; only the `repr` of a record hides them.
        """
        record: Json = read_value(self.to_json())
        return record

    def to_json(self) -> bytes:
        """Return the record as JSON that `chatrest.parse` can read, with credentials like `to_dict`."""
        return write_value(self)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the pairs of `to_dict`: `dict(record)` is the same, and FastAPI asks for that."""
        return iter(self.to_dict().items())

    def __repr__(self) -> str:
        try:
            inner = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        except RecursionError:  # messages that quote messages, hundreds of them
            inner = TOO_DEEP
        return f"{type(self).__name__}({inner})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the names and values that the service sent, credentials hidden, for `repr` and rich."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return repr_fields(self, [(name, value) for name, value in pairs if not is_absent(value)])


class RawRecord:
    """The forms of a record that has its JSON, byte for byte."""

    __slots__ = ()

    raw: bytes
    reason: Any = "it is not JSON, or nested too deeply"

    def to_dict(self) -> Json:
        """Return the record as it was served, read from `raw`; credentials are not hidden.

        Raises `ReplyUnreadableError` if it is not an object or nested too deeply.
        """
        try:
            record = read_value(self.raw)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ReplyUnreadableError(f"the record cannot be read as a dict: {self.reason}")
        return record

    def to_json(self) -> bytes:
        """Return `raw`, the record's JSON byte for byte as served."""
        return self.raw


# A record stores a nested message as its JSON, and a count as the digits that some services send: they cannot
# make its page slow or fail, and `to_dict` returns what was served. Each access to the attribute makes the
# typed message or the number again.
class _View:
    """The attribute of a field: the stored value as converted by `read`."""

    __slots__ = ("_read", "_slot")

    def __init__(self, slot: Any, read: Callable[[Any], Any]) -> None:
        self._slot, self._read = slot, read

    def __get__(self, record: Any, owner: type[Any] | None = None) -> Any:
        if record is None:
            return self
        value = self._slot.__get__(record, owner)
        return value if value is UNSET or value is None else self._read(value)

    def __set__(self, record: Any, value: Any) -> None:
        self._slot.__set__(record, value)


def views(read: Callable[[Any], Any], *names: str) -> Callable[[S], S]:
    """Decorate a struct: its attributes `names` are the stored values as converted by `read`."""

    def decorate(kind: S) -> S:
        for name in names:
            setattr(kind, name, _View(getattr(kind, name), read))
        return kind

    return decorate


def whole_count(stored: object) -> int | UnsetType:
    """Return the number of digits or of a whole number; `UNSET` for anything else."""
    if isinstance(stored, str):
        is_number = len(stored) < _MAX_COUNT and stored.isascii() and stored.isdigit()
        return int(stored) if is_number else UNSET
    return stored if type(stored) is int else UNSET


def text_id(stored: object) -> str:
    """Return an id as text, as the ids of messages are; some services send numbers."""
    return str(stored)
