"""The plan of an export: what it holds, how it is written, and how it may change.

A plan is checked when it is made, and kept in the journal.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, final

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from ..core.requests.arguments import check
from ..core.requests.encode import filter_values
from ..core.requests.endpoint import check_acting_user, segment
from ..errors import RequestInvalidError
from ..parameters.messages import MessageQuery
from ..secrets import shown
from ..times import Time as AnyTime, parse_timestamp, timestamp_words
from .ownership import Source, pair_of

T = TypeVar("T")

Format: TypeAlias = Literal["ndjson", "parquet", "sqlite"]
Compress: TypeAlias = Literal["none", "gzip", "zstd"]
Partition: TypeAlias = Literal["none", "source", "month", "day"]
if TYPE_CHECKING:  # what a caller may give: a plan makes tuples of lists, and timestamps of datetimes
    Names: TypeAlias = Sequence[str]
    Pairs: TypeAlias = Sequence[tuple[str, str]]
    Choice: TypeAlias = bool
    Time: TypeAlias = AnyTime
else:
    Names: TypeAlias = tuple[str, ...] | UnsetType
    Pairs: TypeAlias = tuple[tuple[str, str], ...] | UnsetType
    Choice: TypeAlias = bool | UnsetType
    Time: TypeAlias = int

FORMATS: Final = ("ndjson", "parquet", "sqlite")
COMPRESS: Final = ("none", "gzip", "zstd")
PARTITIONS: Final = ("none", "source", "month", "day")
DEFAULTS: Final = {"ndjson": ("none", "source"), "parquet": ("zstd", "month"), "sqlite": ("none", "none")}
"""By format: how its files are compressed, and what each of them holds."""
_NOT_GIVEN: Final[Any] = UNSET
"""The default of a field that names sources: an empty list is no one, and no list at all is everybody."""
_OF_OTHER_LISTS: Final = (
    "hide_messages_from_blocked_users", "receiver_type", "hide_deleted", "only_deleted", "sent_at",
    "sent_at_from", "sent_at_to", "updated_at_from", "updated_at_to", "edited_at_from", "edited_at_to",
    "senders", "conversation_id", "hide_quoted_messages", "saved", "pinned", "page",
)  # fmt: skip
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
    **dict.fromkeys(_OF_OTHER_LISTS, "not every list that an export reads has it"),
}


SOURCES: Final = frozenset({"users", "pairs", "groups", "all_users", "everything"})
"""The fields that name sources."""


@final
class Plan(Struct, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """The messages to export, and the files to write: any of `users`, `pairs`, `groups` and `all_users`, or
    `everything` alone.

    - `users` are uids, `groups` guids, `pairs` two uids each; an empty list is no one. Where none of them is
      given the plan is `all_users`: every user in the service's list of users, deactivated ones included.
      `everything` is the app's own list of messages, GET /messages.
    - `since` and `until`, both included, limit the export to messages sent in that time. Each is an aware
      datetime, a date, a timestamp in the service's unit, or one of these as text: `"2026-01-31"`,
      `"2026-01-31T12:00Z"`. A date is a day in UTC: `since` begins with its first second, `until` ends with
      its last one. They are kept as timestamps.
    - `query` holds further filters. Page sizes, positions and times are not allowed in it.
    - `format` is `ndjson`, `parquet` or `sqlite`; `compress` is `none`, `gzip` or `zstd`; `partition` is
      `none`, `source` (files per source), `month` or `day` (UTC). None is the format's default: `ndjson` is
      not compressed and has files per source, `parquet` has `zstd` and files by month, `sqlite` is one file.

    Each message is stored once, in the first source of the plan that it belongs to: groups, then pairs, then
    users in the listed order. A user's file is therefore not all of that user's messages.

    Raises `RequestInvalidError` where a field is wrong, or two do not go together.
    """

    users: Names = _NOT_GIVEN
    pairs: Pairs = _NOT_GIVEN
    groups: Names = _NOT_GIVEN
    all_users: Choice = _NOT_GIVEN
    everything: bool = False
    since: Time | None = None
    until: Time | None = None
    query: MessageQuery = MessageQuery()
    format: Format = _NOT_GIVEN
    compress: Compress | None = None
    partition: Partition | None = None

    def __post_init__(self) -> None:
        self.__dict__["given"] = self._given_names()
        self._set("format", "ndjson" if self.format is _NOT_GIVEN else self.format)
        given = [getattr(self, name) for name in ("users", "pairs", "groups", "all_users")]
        is_everybody = all(value is UNSET for value in given) and self.everything is not True
        self._set("users", _each("users", self.users, _name))
        self._set("groups", _each("groups", self.groups, _name))
        self._set("pairs", _each("pairs", self.pairs, _pair))
        check(isinstance(self.everything, bool), "everything", self.everything, "True or False")
        self._set("all_users", is_everybody if given[-1] is UNSET else given[-1])
        check(isinstance(self.all_users, bool), "all_users", self.all_users, "True or False")
        if self.everything and (self.users or self.pairs or self.groups or self.all_users):
            raise RequestInvalidError("everything = True: it holds all the others; allowed is it alone")
        for name in ("since", "until"):
            if (time := getattr(self, name)) is not None:
                self._set(name, parse_timestamp(name, time, end=name == "until"))
        since, until = self.window
        if since is not None and until is not None and until < since:
            raise RequestInvalidError(
                f"until = {timestamp_words(until)}: the window ends before it begins; "
                f"allowed is since ({timestamp_words(since)}) or later"
            )
        _check_query(self.query)
        self._check_files()

    def _given_names(self) -> frozenset[str]:
        """Return the fields that are given; all that name sources are one, `sources`."""
        left = (UNSET, None, MessageQuery())
        names = {field.name for field in structs.fields(self) if getattr(self, field.name) not in left}
        names -= set() if self.everything else {"everything"}
        return frozenset({"sources"} | names - SOURCES if names & SOURCES else names)

    def _check_files(self) -> None:
        check(self.format in FORMATS, "format", self.format, ", ".join(FORMATS))
        compress, partition = DEFAULTS[self.format]
        for name, value, allowed in (("compress", compress, COMPRESS), ("partition", partition, PARTITIONS)):
            given = getattr(self, name)
            check(given is None or given in allowed, name, given, f"{', '.join(allowed)}, or None")
            is_former = name == "partition" and given == "source"  # the default in folders of version 0.2.0
            if self.format == "sqlite" and given not in (None, value) and not is_former:
                raise RequestInvalidError(
                    f"{name} = {given!r}: a database is one file, and allowed is {value!r}"
                )
            self._set(name, value if given is None else given)

    def _set(self, name: str, value: Any) -> None:
        structs.force_setattr(self, name, value)

    def continued(self, plan: "Plan") -> "Plan":
        """Return the plan by which an export by this one continues: what `plan` does not give stays."""
        given: frozenset[str] = plan.__dict__["given"]
        names = given - {"sources"} | (SOURCES if "sources" in given else set())
        if "format" in given and plan.format != self.format:
            names |= {"compress", "partition"}
        elif self.format == "sqlite":
            names -= {"partition"}
        return structs.replace(self, **{name: getattr(plan, name) for name in names})

    @property
    def window(self) -> tuple[int | None, int | None]:
        """`since` and `until` as timestamps."""
        return cast("tuple[int | None, int | None]", (self.since, self.until))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The sources that the plan names, each once; the users of `all_users` are not among them."""
        named = [Source("everything")] if self.everything else []
        named += [Source("group", (guid,)) for guid in self.groups]
        named += [pair_of(*pair) for pair in self.pairs]
        named += [Source("user", (uid,)) for uid in self.users]
        return tuple(dict.fromkeys(named))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the plan, 16 hexadecimal digits; equal plans have the same."""
        return hashlib.sha256(self.encoded()).hexdigest()[:16]

    def encoded(self) -> bytes:
        """Return the plan as JSON, from which `Plan.parse` gives it back."""
        return msgspec.json.encode({**structs.asdict(self), "query": filter_values(self.query)})

    @classmethod
    def parse(cls, encoded: bytes | str) -> "Plan":
        """Return the plan of its JSON; `RequestInvalidError` where it is not the JSON of a plan."""
        try:
            return msgspec.json.decode(encoded, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestInvalidError(f"this is not the JSON of a plan: {error}") from None


def _each(name: str, value: Any, checked: Callable[[str, Any], T]) -> tuple[T, ...]:
    """Return the elements of a list that a caller gives, each checked, and once."""
    if value is UNSET:
        return ()
    check(isinstance(value, Sequence) and not isinstance(value, str | bytes), name, value, "a list")
    elements = [tuple(each) if isinstance(each, list) else each for each in value]
    return tuple(dict.fromkeys(checked(name, each) for each in elements))


def _name(name: str, value: str) -> str:
    segment(name, value)
    return value


def _pair(name: str, pair: Any) -> tuple[str, str]:
    fits = isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]
    check(fits, name, pair, "two different uids")
    for uid in pair:  # each of them may have to be in the path and in the header
        segment(name, uid)
        check_acting_user(uid, name)
    one, other = sorted(pair)
    return one, other


def _check_query(query: object) -> None:
    check(isinstance(query, MessageQuery), "query", query, "a MessageQuery")
    for name, reason in _NOT_A_FILTER.items():
        if (value := getattr(query, name)) is not None:
            raise RequestInvalidError(f"query.{name} = {value!r}: not allowed in a plan, {reason}")


# ── two plans ──


def growth_fault(stored: Plan, plan: Plan) -> tuple[str, str]:
    """Return the settings for which an export by `stored` cannot be continued by `plan`, in both's words.

    Two empty texts where it can, else such as `("since=2020-01-01", "no since")`. Sources may differ, and the
    window may become wider; format, compression, partition and filters stay as they are.
    """
    mine, others = _settings(stored), _settings(plan)
    free = {"since", "until"} if is_within(stored, plan) else set[str]()
    if plan.format != stored.format:  # their defaults depend on it
        free |= {"compress", "partition"}
    names = [each for each in sorted({**mine, **others}.keys() - free) if mine.get(each) != others.get(each)]
    return _joined(mine, names), _joined(others, names)


def is_within(stored: Plan, plan: Plan) -> bool:
    """Return whether the window of `plan` has all times of the window of `stored`."""
    (since, until), (new_since, new_until) = stored.window, plan.window
    return (new_since or 0) <= (since or 0) and (
        new_until is None or (until is not None and new_until >= until)
    )


def _settings(plan: Plan) -> dict[str, Any]:
    """Return what is given of a plan, or has a default; without its sources."""
    values = structs.asdict(plan)
    filters = {f"query.{name}": value for name, value in structs.asdict(values.pop("query")).items()}
    given = (values | filters).items()
    return {name: value for name, value in given if name not in SOURCES and value not in (None, UNSET)}


def _joined(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    def words(name: str) -> str:
        value = settings[name]
        if name in ("since", "until"):
            return timestamp_words(value)
        return shown(value) if name.startswith("query.") else str(value)

    parts = [f"{name}={words(name)}" if name in settings else f"no {name}" for name in names]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
