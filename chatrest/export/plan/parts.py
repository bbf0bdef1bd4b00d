"""An export of parts: its folder, and the part that a name belongs to. Pure.

```
OUT/parts.json              the number of parts, app, plan, and the nights (`Parts`)
OUT/users/0000.msgpack.gz   the users that no earlier night has listed (`NightUsers`); never changed
OUT/news/0000.msgpack.gz    what else a night has asked for all parts: the app's newest messages, and all that
                            is new where its own list shows that (`NightFindings`); never changed
OUT/part=00/                an export, exactly what one machine makes: journal, manifest, files, proof
OUT/part=00/part.json       how far it is (`PartState`): the night that it has read, and what it took in
OUT/part=00/foreign/07.ids  what the lists of part 07 showed, and part 00 owns (`Foreign`)
OUT/app=NAME/               of many apps: each an export, or itself of parts
```

A night is one reading of all parts: it begins with the list of users, which is read once. In an object store
these are objects below the address.

Which part writes a message is a rule that needs no talk between parts, and never changes:

| a message of       | is written by the part of                                                         |
|--------------------|-----------------------------------------------------------------------------------|
| a group, exported  | the group                                                                         |
| a pair, exported   | the pair                                                                          |
| two users          | the party that was listed first; of two in one night the smaller uid              |
| a group that is    | the sender, listed or not; where no list of that part can show it, whoever sees   |
| not exported       | it leaves the message itself there                                                |

"Listed first" is the number of a night, which is kept with the list of users: a later user owns
nothing of one who was there before. A rule without it, or one by which an unlisted sender's messages are the
group's, stores messages twice as soon as a user is listed.

Of each night a set of 32-bit hashes is in memory: some two bytes a user, 100 MB for 50 million. Where two
uids have one hash, one of them may count as listed that is not: for all parts alike, so the rule stays one.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple, Self, TypeVar

import msgspec
from msgspec import Struct, structs

from ...errors import ChatRestError, RequestInvalidError
from .export_plan import Plan
from .file_names import file_name
from .id_set import IdSet
from .ownership import Source, pair_of

T = TypeVar("T")

NAME: Final = "parts.json"
VERSION: Final = 1
STATE: Final = "part.json"
"""In the folder of a part: a `PartState`."""
FOREIGN: Final = "foreign"
"""In the folder of a part: the folder of what other parts have left there."""
MAX_PARTS: Final = 10_000
_PART: Final = re.compile(r"part=([0-9]{2,4})")
_APP: Final = "app="
_GZIP_LEVEL: Final = 3


class Night(Struct, frozen=True):
    """One reading of all parts; the first has the number 0."""

    listed: int
    """When it began, and the users were listed, in epoch seconds."""
    news: str
    """The name of its `NightFindings` below the export's folder, such as `news/0000.msgpack.gz`."""
    users: str = ""
    """The name of its `NightUsers`; empty where no user is new."""


class Parts(Struct, frozen=True, kw_only=True):
    """The content of `parts.json`."""

    version: int = VERSION
    parts: int
    """How many there are; it never changes."""
    app_id: str
    plan: Plan
    """The plan of all parts together; it never changes."""
    nights: tuple[Night, ...] = ()

    @property
    def names(self) -> list[str]:
        return [part_name(number, self.parts) for number in range(self.parts)]

    @property
    def night(self) -> int:
        """The number of the newest night; -1 before the first one."""
        return len(self.nights) - 1

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    @classmethod
    def parse(cls, data: bytes, where: object) -> Self:
        """Return the parts of a file's content; `ChatRestError` where it is damaged, and
        `RequestInvalidError` where it is of another version. `where` is what an error calls it.
        """
        parts = _decoded(data, cls, where)
        if parts.version != VERSION:
            raise RequestInvalidError(f"{where} is of version {parts.version}: expected {VERSION}")
        if not 0 < parts.parts <= MAX_PARTS:
            raise ChatRestError(f"{where} is damaged: parts = {parts.parts}: expected 1 to {MAX_PARTS:,}")
        return parts


class NightUsers(Struct, frozen=True):
    """The users that no earlier night has listed, those that the plan names in the first one."""

    packed: list[bytes] = []
    """The uids by the part that reads their lists, each list by itself: a part unpacks its own alone."""

    @classmethod
    def of(cls, uids: Iterable[str], parts: int) -> Self:
        by_part: list[list[str]] = [[] for _ in range(parts)]
        for uid in uids:
            by_part[spread(uid, parts)].append(uid)
        return cls([zlib.compress(msgspec.msgpack.encode(each), _GZIP_LEVEL) for each in by_part])

    def uids(self, part: int) -> list[str]:
        return msgspec.msgpack.decode(zlib.decompress(self.packed[part]), type=list[str])

    def __iter__(self) -> Iterator[str]:
        return (uid for part in range(len(self.packed)) for uid in self.uids(part))


class NightFindings(Struct, frozen=True, kw_only=True):
    newest: list[bytes] = []
    """The app's newest messages, the newest first, as served."""
    goes_backwards: bool = False
    """True if the app's own list was seen to begin with its newest message where asked for it."""
    gone: list[str] = []
    """The users that earlier nights have listed, and this one has not."""
    fault: str = ""
    """The reason why the users are not known to be all; empty as usually."""
    after: int | None = None
    """Where the app's own list shows all that is new after this id, up to the frozen end: no list is asked
    for it. None where each list is to be asked."""
    believed: int = 0
    """The nights in a row, this one included, in which no list was asked."""
    rows: list[bytes] = []
    """What is new after `after`, as served."""


def packed(value: NightUsers | NightFindings) -> bytes:
    return gzip.compress(msgspec.msgpack.encode(value), _GZIP_LEVEL, mtime=0)


def unpacked(data: bytes, kind: type[T], where: object) -> T:
    """Return what `packed` took; `ChatRestError` where it is damaged. `where` is what an error calls it."""
    try:
        return msgspec.msgpack.decode(gzip.decompress(data), type=kind)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ChatRestError(f"{where} is damaged: {error}") from None


class PartState(Struct, frozen=True, kw_only=True):
    """The progress of a part: the content of `part.json`, written after each of its runs."""

    night: int = -1
    """The night that its lists were read in to their end; -1 before the first one."""
    complete: bool = False
    """True if that run was complete (`Report.complete`)."""
    messages: int = 0
    sources: int = 0
    run: int = 0
    """The number of that run."""
    taken: dict[str, str] = {}
    """By the name of each file in `foreign/` that was taken in, its stamp: another one, or one that is not
    here, holds what is to be taken in still, and the part is not complete."""

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def parse(cls, data: bytes, where: object) -> Self:
        return _decoded(data, cls, where)


class Foreign(Struct, frozen=True, kw_only=True):
    """The ids that one part's lists have shown, and another part owns: the content of `foreign/07.ids`."""

    numbers: bytes = b""
    """The ids that are numbers, an `IdSet` as bytes; empty for none."""
    names: list[str] = []
    """The texts of the ids that are no numbers."""
    rows: list[bytes] = []
    """Messages that no list of the owner can show, as served; their ids are above as well."""

    def merged(self, other: "Foreign") -> "Foreign":
        ids = IdSet.union(IdSet.from_bytes(each.numbers) for each in (self, other) if each.numbers)
        return Foreign(
            numbers=ids.to_bytes() if ids else b"",
            names=sorted({*self.names, *other.names}),
            rows=sorted({*self.rows, *other.rows}),
        )

    def encoded(self) -> bytes:
        data = zlib.compress(msgspec.msgpack.encode(self), 1)
        return blake2b(data, digest_size=STAMP // 2).hexdigest().encode() + data

    @classmethod
    def parse(cls, data: bytes, where: object) -> Self:
        """Return what `encoded` made; `ChatRestError` where a byte of it is another one."""
        stamp, packed = data[:STAMP], data[STAMP:]
        if blake2b(packed, digest_size=STAMP // 2).hexdigest().encode() != stamp:
            raise ChatRestError(f"{where} is damaged: its part writes it again in its next run")
        return msgspec.msgpack.decode(zlib.decompress(packed), type=cls)


STAMP: Final = 32
"""The first characters of a file in `foreign/`: a hash of the rest, by which an owner knows what it has taken
in."""


def _decoded(data: bytes, kind: type[T], where: object) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RequestInvalidError) as error:
        raise ChatRestError(f"{where} is damaged: {error}") from None


def part_name(number: int, parts: int) -> str:
    """Return the name of a part's folder, such as `part=07`."""
    return f"part={digits(number, parts)}"


def digits(number: int, parts: int) -> str:
    """Return the number of a part in so many digits as that of the last one has, at least two."""
    return f"{number:0{max(2, len(str(parts - 1)))}}"


def part_number(name: str) -> int | None:
    """Return the number of the part whose folder has this name; None for another name."""
    match = _PART.fullmatch(name)
    return int(match[1]) if match else None


def app_name(name: str) -> str:
    """Return the name of an app's folder in an export of many apps, such as `app=shop`."""
    return f"{_APP}{file_name(name)}"


def is_app_name(name: str) -> bool:
    return name.startswith(_APP) and len(name) > len(_APP)


def spread(name: str, parts: int) -> int:
    """Return the part that a name belongs to: the same for ever, on every machine."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % parts


# ── the part that writes a message ──

_NEVER: Final = 1 << 30
"""The night of a user who was never listed."""


class PartOwner(NamedTuple):
    part: int
    may_show: bool
    """False if no list of that part can show it: the message itself is left there, and not its id alone."""


class PartOwnership:
    def __init__(self, plan: Plan, parts: int) -> None:
        self._parts = parts
        self._named = frozenset(each for each in plan.sources if each.kind != "user")
        self._nights: list[IdSet] = []
        self.gone: frozenset[str] = frozenset()
        """The users whose lists cannot be read any more."""

    def add_night(self, uids: Iterable[str]) -> None:
        """Add the users that a night has listed first; nights are added in their order."""
        self._nights.append(IdSet(map(_hash, uids)))

    def owner(self, sender: str, receiver: str, receiver_type: str) -> PartOwner:
        if receiver_type == "group" and Source("group", (receiver,)) in self._named:
            return PartOwner(spread(receiver, self._parts), may_show=True)
        if receiver_type == "user":
            if (pair := pair_of(sender, receiver)) in self._named:
                return PartOwner(self.part_of(pair), may_show=True)
            night, first = min((self._night(uid), uid) for uid in (sender, receiver))
            if night < _NEVER:
                return PartOwner(spread(first, self._parts), may_show=first not in self.gone)
        may_show = sender not in self.gone and self._night(sender) < _NEVER
        return PartOwner(spread(sender, self._parts), may_show)

    def claimants(self, sender: str, receiver: str, receiver_type: str) -> list[Source]:
        """Return the sources of the plan that claim a message, in no order."""
        users = dict.fromkeys([sender, receiver] if receiver_type == "user" else [sender])
        claimants = [Source("user", (uid,)) for uid in users if self._night(uid) < _NEVER]
        conversation = Source("group", (receiver,)) if receiver_type == "group" else pair_of(sender, receiver)
        return claimants + [conversation] * (conversation in self._named)

    def part_of(self, source: Source) -> int:
        return spread(source.key if source.kind == "pair" else source.names[0], self._parts)

    def plan_of(self, plan: Plan, part: int) -> Plan:
        return structs.replace(
            plan,
            groups=[guid for guid in plan.groups if spread(guid, self._parts) == part],
            pairs=[pair for pair in plan.pairs if self.part_of(pair_of(*pair)) == part],
            users=[uid for uid in plan.users if spread(uid, self._parts) == part],
        )

    def _night(self, uid: str) -> int:
        key = _hash(uid)
        return next((number for number, listed in enumerate(self._nights) if key in listed), _NEVER)


def _hash(uid: str) -> int:
    digest = blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=4, person=b"listed").digest()
    return int.from_bytes(digest, "big") + 1  # an id begins with 1
