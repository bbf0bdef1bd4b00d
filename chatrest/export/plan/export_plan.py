"""The plan of an export: what it holds, how it is written, and how it may change.

A plan is checked when it is made, and kept in the journal.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from ..._core.requests.arguments import check
from ..._core.requests.endpoint import check_acting_user, segment
from ..._struct_help import NamedFields
from ...errors import RequestInvalidError
from ...times import Time as AnyTime, is_relative, parse_timestamp, timestamp_words
from .ownership import Source, pair_of

T = TypeVar("T")

Format: TypeAlias = Literal["ndjson", "parquet"]
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

FORMATS: Final = ("ndjson", "parquet")
COMPRESS: Final = ("none", "gzip", "zstd")
PARTITIONS: Final = ("none", "source", "month", "day")
DEFAULTS: Final = {"ndjson": ("none", "source"), "parquet": ("zstd", "month")}
"""By format: how its files are compressed, and what each of them holds."""
_NOT_GIVEN: Final[Any] = UNSET
"""The default of a field that names sources: an empty list is no one, and no list at all is everybody."""
SOURCES: Final = frozenset({"users", "pairs", "groups", "all_users", "everything"})
"""The fields that name sources."""
_SHOWN: Final = 5
"""The names of sources that an error shows."""


class Plan(Struct, metaclass=NamedFields, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """The messages to export, and the files to write: any of `users`, `pairs`, `groups` and `all_users`, or
    `everything` alone.

    - `users` are uids, `groups` guids, `pairs` two uids each; an empty list is no one. Where none of them is
      given the plan is `all_users`: every user in the service's list of users, deactivated ones included.
      `everything` is the app's own list of messages, GET /messages.
    - `since` and `until`, both included, limit the export to messages sent in that time. Each is any
      `chatrest.times.Time`, such as `"2026-01-31"`, an aware datetime, or `"7d"`. A date is a day in UTC:
      `since` begins with its first second, `until` ends with its last one. They are kept as timestamps.
    - `format` is `ndjson` or `parquet`; `compress` is `none`, `gzip` or `zstd`; `partition` is
      `none`, `source` (files per source), `month` or `day` (UTC). None is the format's default: `ndjson` is
      not compressed and has files per source, `parquet` has `zstd` and files by month.

    Each message is stored once, in the first source of the plan that it belongs to: groups, then pairs, then
    users in the listed order. A user's file is therefore not all of that user's messages.

    Raises `RequestInvalidError` where a field is wrong, or two do not go together.
    """

    argument_types: ClassVar[Mapping[str, Any]] = {"since": AnyTime | None, "until": AnyTime | None}

    users: Names = _NOT_GIVEN
    pairs: Pairs = _NOT_GIVEN
    groups: Names = _NOT_GIVEN
    all_users: Choice = _NOT_GIVEN
    everything: bool = False
    since: Time | None = None
    until: Time | None = None
    format: Format = _NOT_GIVEN
    compress: Compress | None = None
    partition: Partition | None = None
    _since_age: str | None = msgspec.field(default=None, name="since_age")
    """The age, such as `7d`, that `since` was read from; a plan sets it itself."""

    def __post_init__(self) -> None:
        self.__dict__["given"] = self._given_names()
        if is_relative(self.since) or isinstance(self.since, timedelta):
            self._set("_since_age", str(self.since))
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
            raise RequestInvalidError("everything: expected no other sources beside it", name="everything")
        for name in ("since", "until"):
            if (time := getattr(self, name)) is not None:
                self._set(name, parse_timestamp(name, time, end=name == "until"))
        since, until = self.window
        if since is not None and until is not None and until < since:
            raise RequestInvalidError(
                f"until = {timestamp_words(until)}: the window ends before it begins; "
                f"expected {timestamp_words(since)} or later",
                name="until",
            )
        self._check_files()

    def _given_names(self) -> frozenset[str]:
        """Return the fields that are given; all that name sources are one, `sources`."""
        names = {name for name in FIELDS if getattr(self, name) not in (UNSET, None)}
        names -= set() if self.everything else {"everything"}
        return frozenset({"sources"} | names - SOURCES if names & SOURCES else names)

    def _check_files(self) -> None:
        check(self.format in FORMATS, "format", self.format, any_of(FORMATS))
        compress, partition = DEFAULTS[self.format]
        for name, value, allowed in (("compress", compress, COMPRESS), ("partition", partition, PARTITIONS)):
            given = getattr(self, name)
            check(given is None or given in allowed, name, given, any_of([*allowed, "None"]))
            self._set(name, value if given is None else given)

    def _set(self, name: str, value: Any) -> None:
        structs.force_setattr(self, name, value)

    def continued(self, plan: "Plan", *, is_literal: bool = False) -> "Plan":
        """Return the plan by which an export by this one continues: what `plan` does not give stays.

        So does the order of the sources, where they are the same, and unless `is_literal` the `since` that
        the same age, such as `7d`, was read as by the first run: the same command can be run again.
        """
        given: frozenset[str] = plan.__dict__["given"]
        if plan._since_age and plan._since_age == self._since_age and not is_literal:
            given -= {"since"}
        if _sources(plan) == _sources(self):
            given -= {"sources"}
        names = given - {"sources"} | (SOURCES if "sources" in given else set())
        if "format" in given and plan.format != self.format:
            names |= {"compress", "partition"}
        names |= {"_since_age"} if "since" in names else set()
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

    def holds(self, source: Source) -> bool:
        """Return whether the plan asks for a source, by its name or as one of all users."""
        return source in self._named or (bool(self.all_users) and source.kind == "user")

    @cached_property
    def _named(self) -> frozenset[Source]:
        return frozenset(self.sources)

    @property
    def names(self) -> list[str]:
        """The sources that the plan asks for, and its window, as a report names them."""
        return ["all users"] * bool(self.all_users) + list(map(str, self.sources)) + self._window_words

    @property
    def _window_words(self) -> list[str]:
        ends = zip(("since", "until"), self.window, strict=True)
        return [f"{name}={timestamp_words(time)}" for name, time in ends if time is not None]

    def part_of(self, plan: "Plan") -> "Plan | None":
        """Return the plan as a part of another one, which alone is read; None where it is the whole.

        Raises `RequestInvalidError` for what is not of the other plan.
        """
        part = plan.continued(self, is_literal=True)
        old, new = _joined_difference(plan, part, {"since", "until"})
        foreign = [str(each) for each in part.sources if not plan.holds(each)]
        foreign += ["all users"] if part.all_users and not plan.all_users else []
        if old:
            fault = f"the folder was exported with {old}, and this plan has {new}"
        elif foreign:
            fault = f"{foreign[0]} is not in the folder's plan ({plan.words})"
        elif not is_within(part, plan):
            fault = "the window begins before that of the folder's plan, or ends after it"
        else:
            return None if difference(plan, part) == ("", "") else part
        raise RequestInvalidError(
            f"{fault}; nothing was read or changed: expected a part of the folder's plan for only=True, "
            "or change_plan=True with all that the plan is to have",
            arguments=("only", "change_plan"),
        )

    @property
    def words(self) -> str:
        """The sources in words, such as `all users and group team`."""
        parts = ["all users"] if self.all_users else []
        parts += ["the app's own list of messages"] if self.everything else []
        for kind in ("group", "pair", "user"):
            names = [" and ".join(each.names) for each in self.sources if each.kind == kind]
            more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
            if names:
                parts.append(f"{kind}{'s' * (len(names) > 1)} {', '.join(names[:_SHOWN])}{more}")
        return "; ".join(parts) or "no source"

    @property
    def full_words(self) -> str:
        """The sources and the window in words, such as `all users, since=2026-01-01`."""
        return ", ".join([self.words, *self._window_words])

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def parse(cls, encoded: bytes | str) -> "Plan":
        """Return the plan of its JSON; `RequestInvalidError` where it is not the JSON of a plan."""
        try:
            return msgspec.json.decode(encoded, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestInvalidError(f"this is not the JSON of a plan: {error}") from None


FIELDS: Final = tuple(name for name in Plan.__struct_fields__ if not name.startswith("_"))
"""The fields that a caller may give."""


def _each(name: str, value: Any, checked: Callable[[str, Any], T]) -> tuple[T, ...]:
    if value is UNSET:
        return ()
    check(isinstance(value, Sequence) and not isinstance(value, str | bytes), name, value, "a list")
    elements = [tuple(each) if isinstance(each, list) else each for each in value]
    return tuple(dict.fromkeys(checked(name, each) for each in elements))


def _name(name: str, value: str) -> str:
    segment(name, value)
    return value


def _pair(name: str, pair: Any) -> tuple[str, str]:
    check(isinstance(pair, tuple) and len(pair) == 2, name, pair, "two different uids")
    check(pair[0] != pair[1], name, " ".join(map(str, pair)), "two different uids")
    for uid in pair:  # each of them may have to be in the path and in the header
        segment(name, uid)
        check_acting_user(uid, name)
    first, second = sorted(pair)
    return first, second


def any_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


# ── two plans ──


def growth_fault(stored: Plan, plan: Plan) -> tuple[str, str]:
    """Return the settings for which an export by `stored` cannot be continued by `plan`, in both's words.

    Two empty texts where it can, else such as `("since=2020-01-01", "no since")`. Sources may differ, and the
    window may become wider; format, compression and partition stay as they are.
    """
    free = {"since", "until"} if is_within(stored, plan) else set[str]()
    if plan.format != stored.format:  # their defaults depend on it
        free |= {"compress", "partition"}
    return _joined_difference(stored, plan, free)


def difference(stored: Plan, plan: Plan) -> tuple[str, str]:
    """Return in what two plans differ, in both's words; two empty texts where only their order does."""
    old, new = _joined_difference(stored, plan, set())
    if _sources(stored) != _sources(plan):
        old, new = (", ".join(filter(None, pair)) for pair in ((stored.words, old), (plan.words, new)))
    return old, new


def _joined_difference(stored: Plan, plan: Plan, free: set[str]) -> tuple[str, str]:
    mine, others = _settings(stored), _settings(plan)
    names = [each for each in sorted({**mine, **others}.keys() - free) if mine.get(each) != others.get(each)]
    return _joined(mine, names), _joined(others, names)


def _sources(plan: Plan) -> tuple[bool, frozenset[Source]]:
    return bool(plan.all_users), frozenset(plan.sources)


def is_within(stored: Plan, plan: Plan) -> bool:
    """Return whether the window of `plan` has all times of the window of `stored`."""
    (since, until), (new_since, new_until) = stored.window, plan.window
    return (new_since or 0) <= (since or 0) and (
        new_until is None or (until is not None and new_until >= until)
    )


def _settings(plan: Plan) -> dict[str, Any]:
    names = [name for name in FIELDS if name not in SOURCES]
    return {name: value for name in names if (value := getattr(plan, name)) is not None}


def _joined(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    def words(name: str) -> str:
        value = settings[name]
        if name in ("since", "until"):
            return timestamp_words(value)
        return str(value)

    parts = [f"{name}={words(name)}" if name in settings else f"no {name}" for name in names]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
