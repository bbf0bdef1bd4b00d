"""What an export holds and how it is written: a value, checked when it is made, kept in the journal."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, final

import msgspec
from msgspec import Struct, structs

from ..core.arguments import check
from ..core.encode import given
from ..core.endpoint import check_acting_user, segment
from ..errors import RequestInvalidError
from ..queries.messages import MessageQuery
from .sources import Source, pair_of

T = TypeVar("T")

Format: TypeAlias = Literal["ndjson", "parquet", "sqlite"]
Compress: TypeAlias = Literal["none", "gzip", "zstd"]
Partition: TypeAlias = Literal["source", "month"]
if TYPE_CHECKING:  # what a caller may give: a plan makes tuples of lists
    Names: TypeAlias = Sequence[str]
    Pairs: TypeAlias = Sequence[tuple[str, str]]
else:
    Names: TypeAlias = tuple[str, ...]
    Pairs: TypeAlias = tuple[tuple[str, str], ...]

FORMATS: Final = ("ndjson", "parquet", "sqlite")
COMPRESS: Final = ("none", "gzip", "zstd")
PARTITIONS: Final = ("source", "month")
_DEFAULTS: Final = {"parquet": ("zstd", "month")}
_NOT_A_FILTER: Final = {
    "affix": "an export goes from the oldest message to the newest",
    "id": "the journal knows where each source goes on",
    "count": "it asks for counts in the place of messages",
    "limit": "pages are as large as the service allows",
    "per_page": "pages are as large as the service allows",
    "my_mentions_only": "an export reads as nobody",
    "mentions_with_blocked_info": "an export reads as nobody",
    "from_timestamp": "give the plan's since",
    "to_timestamp": "give the plan's until",
}


@final
class Plan(Struct, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """What to export: any of `users`, `pairs`, `groups` and `all_users`, or `everything` alone.

    - With no source named it is `all_users`: the service's list of users, each of them walked, the ones
      that are switched off too. `everything` is the app's own list, GET /messages.
    - `since` and `until`, both included, are compared with `sentAt` (epoch seconds on services of this
      kind; the specification shows no unit), here as well as by the service.
    - `query` is any filter of the messages but the places and sizes, which the export has a hold of.
    - `format`, `compress` and `partition`: None is the format's own default: `ndjson` is not compressed
      and has a file a source, `parquet` is `zstd` and has files by month; `sqlite` is one file.

    Raises `RequestInvalidError` where a field is wrong, or two do not go together.
    """

    users: Names = ()
    pairs: Pairs = ()
    groups: Names = ()
    all_users: bool = False
    everything: bool = False
    since: int | None = None
    until: int | None = None
    query: MessageQuery = MessageQuery()
    format: Format = "ndjson"
    compress: Compress | None = None
    partition: Partition | None = None

    def __post_init__(self) -> None:
        self._set("users", _unique(_uid("users", uid) for uid in _list("users", self.users)))
        self._set("groups", _unique(_guid(guid) for guid in _list("groups", self.groups)))
        self._set("pairs", _unique(_pair(pair) for pair in _list("pairs", self.pairs)))
        for name in ("all_users", "everything"):
            check(isinstance(getattr(self, name), bool), name, getattr(self, name), "True or False")
        named = bool(self.users or self.pairs or self.groups or self.all_users)
        if self.everything and named:
            raise RequestInvalidError("everything = True: it holds all the others; allowed is it alone")
        if not named and not self.everything:
            self._set("all_users", True)
        _check_window(self.since, self.until)
        _check_query(self.query)
        self._check_files()

    def _check_files(self) -> None:
        check(self.format in FORMATS, "format", self.format, ", ".join(FORMATS))
        compress, partition = _DEFAULTS.get(self.format, ("none", "source"))
        for name, value, allowed in (("compress", compress, COMPRESS), ("partition", partition, PARTITIONS)):
            given = getattr(self, name)
            check(given is None or given in allowed, name, given, f"{', '.join(allowed)}, or None")
            if self.format == "sqlite" and given not in (None, value):
                raise RequestInvalidError(
                    f"{name} = {given!r}: a database is one file, and allowed is {value!r}"
                )
            self._set(name, value if given is None else given)

    def _set(self, name: str, value: Any) -> None:
        structs.force_setattr(self, name, value)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The sources that are named, each once; those of `all_users` are the service's to list."""
        named = [Source("everything")] if self.everything else []
        named += [Source("group", (guid,)) for guid in self.groups]
        named += [pair_of(*pair) for pair in self.pairs]
        named += [Source("user", (uid,)) for uid in self.users]
        return tuple(dict.fromkeys(named))

    @cached_property
    def fingerprint(self) -> str:
        """A short name that equal plans share."""
        return hashlib.sha256(self.encoded()).hexdigest()[:16]

    def encoded(self) -> bytes:
        """The plan as JSON, from which `Plan.parse` gives it back."""
        return msgspec.json.encode({**structs.asdict(self), "query": given(self.query)})

    @classmethod
    def parse(cls, encoded: bytes | str) -> "Plan":
        """The plan of its JSON; `RequestInvalidError` where it is none."""
        try:
            return msgspec.json.decode(encoded, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestInvalidError(f"this is not the JSON of a plan: {error}") from None

    def differences(self, other: "Plan") -> list[str]:
        """What is not the same in `other`, a line a field."""
        names = self.__struct_fields__
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return [f"{name} is {mine!r}, and not {its!r}" for name, mine, its in pairs if mine != its]


def _list(name: str, value: object) -> list[Any]:
    fits = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    check(fits, name, value, "a list")
    assert isinstance(value, Sequence)
    return [tuple(each) if isinstance(each, list) else each for each in value]


def _unique(checked: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(checked))


def _uid(name: str, uid: object) -> str:
    segment(name, uid)
    assert isinstance(uid, str)
    return uid


def _guid(guid: object) -> str:
    return _uid("groups", guid)


def _pair(pair: object) -> tuple[str, str]:
    fits = isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]
    check(fits, "pairs", pair, "two different uids")
    assert isinstance(pair, tuple)
    for uid in pair:  # each of them may have to stand in the path and in the header
        segment("pairs", uid)
        check_acting_user(uid, "pairs")
    one, other = sorted(pair)
    return one, other


def _check_window(since: object, until: object) -> None:
    for name, value in (("since", since), ("until", until)):
        fits = value is None or (type(value) is int and value >= 0)
        check(fits, name, value, "a timestamp as a whole number, 0 or later, or None")
    if isinstance(since, int) and isinstance(until, int) and until < since:
        raise RequestInvalidError(
            f"until = {until}: the window ends before it begins; allowed is since ({since}) or later"
        )


def _check_query(query: object) -> None:
    check(isinstance(query, MessageQuery), "query", query, "a MessageQuery")
    for name, reason in _NOT_A_FILTER.items():
        if (value := getattr(query, name)) is not None:
            raise RequestInvalidError(f"query.{name} = {value!r}: not allowed in a plan, {reason}")
