"""The input of a handler: the service's data and settings, and a call whose query and body are parsed.

What is wrong is refused with 400, by its field. A parameter has the type of the endpoint's filter, or that of
`_Paging`; one that neither knows stays the text that was sent. A boolean is `true`, `false`, `1` or `0`. A
list is one comma list, as a repeated key or as `key[]`. A body is a JSON object, or a form (RFC 7578) where
the endpoint's `media` is multipart. Members that its struct does not have are left out.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from email.parser import BytesParser
from functools import cache
from operator import eq, ge, gt, le, lt
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from ..._core.requests.endpoint import Endpoint
from ..._parameters.checked import Direction, PageSize
from ..store import Store
from ..store.documents import Document
from .refusals import ServiceRefusal, bad_request

_Number = Annotated[int, Meta(ge=0, le=10**18)]
_ALIASES: Final = {"per_page": "perPage", "mentionswithTagInfo": "mentionsWithTagInfo"}


class ServiceRequest(NamedTuple):
    """A request as it came, without a socket."""

    method: str
    path: str
    """As sent, percent-encoded, with the base address's own path, without the query."""
    query: str
    """As sent, percent-encoded."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = b""


class OutgoingReply(Struct, frozen=True):
    """A reply before it is sent."""

    status: int
    body: bytes
    headers: dict[str, str] = {}


class Context(Struct, frozen=True):
    store: Store
    app: Mapping[str, object]
    clock: Callable[[], float]
    """Epoch seconds."""

    @property
    def now(self) -> int:
        return int(self.clock())


class ServiceCall(Context, frozen=True):
    """A request that has passed the checks that all operations share, and the data that it is about."""

    endpoint: Endpoint[Any]
    path: Mapping[str, str]
    """The values of the path's parameters, by name."""
    query: Document
    """The parameters that were sent, by name, as the endpoint's filter types them."""
    acting_user: str | None
    """A user that exists; None if no one acts, or where the operation knows no acting user."""
    body: Document
    """The members that the endpoint's struct has, with its defaults."""


Handler: TypeAlias = Callable[[ServiceCall], Any]
"""Serves one operation: gives what the reply has in `data`, or as bytes the whole reply; or refuses it."""


class _Paging(Struct, rename="camel"):
    page: Annotated[int, Meta(ge=1, le=10**9)] | UnsetType = UNSET
    per_page: PageSize | UnsetType = UNSET
    limit: PageSize | UnsetType = UNSET
    affix: Direction | UnsetType = UNSET
    id: _Number | UnsetType = UNSET
    sent_at: _Number | UnsetType = UNSET
    updated_at: _Number | UnsetType = UNSET
    created_at: _Number | UnsetType = UNSET


@cache
def _list_types(kind: type[Struct]) -> dict[str, str]:
    hints = {name: str(hint) for name, hint in get_type_hints(kind).items()}
    return {
        each.encode_name: hints[each.name] for each in structs.fields(kind) if "tuple" in hints[each.name]
    }


def read_query(query: str, endpoint: Endpoint[Any]) -> Document:
    lists = _list_types(endpoint.query or _Paging)
    sent: dict[str, Any] = {}
    for key, value in parse_qsl(query, errors="replace"):
        name = key.removesuffix("[]")
        name = _ALIASES.get(name, name)
        if name in lists:
            sent.setdefault(name, []).extend(part for part in value.split(",") if part)
        else:
            sent[name] = value
    read = dict(sent)
    try:
        for kind in filter(None, (endpoint.query, _Paging)):
            typed = msgspec.to_builtins(msgspec.convert(sent, kind, strict=False))
            read = {name: value for name, value in (read | typed).items() if value is not None}
    except msgspec.ValidationError as error:
        raise _refusal(error, endpoint.query) from None
    return read


_FIELDS: Final = (r"`\$\.(\w+(?:\[[a-z]+\])?)", r"required field `([^`]+)`", r"^(\w+) = ")


def read_body(body: bytes, content_type: str, endpoint: Endpoint[Any]) -> Document:
    # An import has a code for each of its records.
    kind: Any = dict[str, Any] if endpoint.name.startswith("data_import.") else endpoint.body
    if kind is None:
        return {}
    files: Document = {}
    try:
        if endpoint.media == "multipart" and content_type.lower().startswith("multipart/form-data"):
            members, files = _read_form(content_type, body, kind)
            read = msgspec.convert(members, kind, strict=False)
        else:
            read = msgspec.json.decode(body or b"{}", type=kind)
        return {**msgspec.to_builtins(read), **files}
    except msgspec.ValidationError as error:
        raise _refusal(error, kind) from None
    except (msgspec.DecodeError, RecursionError):
        raise bad_request({"body": ["The body must be a JSON object in UTF-8."]}) from None


def _read_form(content_type: str, body: bytes, kind: type[Struct]) -> tuple[Document, Document]:
    """Return the texts of a form, of a name that is repeated all of them; and its files, as texts."""
    # Bytes of a header that are not UTF-8 come as lone surrogates.
    header = content_type.encode(errors="replace")
    message: Any = BytesParser().parsebytes(b"Content-Type: %b\r\n\r\n%b" % (header, body))
    if message.defects or not message.is_multipart():
        raise bad_request({"body": ["The body must be a form (multipart/form-data)."]})
    texts, files = dict[str, Any](), Document()
    for part in message.get_payload():
        name = str(part.get_param("name", header="content-disposition"))
        text = (part.get_payload(decode=True) or b"").decode(errors="replace")
        if part.get_filename() is None:
            texts.setdefault(name, []).append(text)
        else:
            files[name] = text
    # What may be a text as well is a list only where it is repeated.
    lists = [name for name, hint in _list_types(kind).items() if "str, tuple" not in hint]
    return {name: each if name in lists or each[1:] else each[0] for name, each in texts.items()}, files


def _refusal(error: Exception, kind: Any = None) -> ServiceRefusal:
    """Return the 400 with the member that an error is about: "… - at `$.tags[0]`", "uid = …"."""
    words = str(error)
    name = next((match[1] for each in _FIELDS if (match := re.search(each, words))), "body")
    fields = structs.fields(kind) if isinstance(kind, type) and issubclass(kind, Struct) else ()
    name = {field.name: field.encode_name for field in fields}.get(name, name)
    return bad_request({name: [words.partition(" - at `")[0]]})


Filters: TypeAlias = Mapping[str, Callable[[Any, Any], Any]]
"""By parameter, what says if a record is in the list, by the parameter's value."""
_COMPARISONS: Final = {"from": ge, "to": le, "gt": gt, "gte": ge, "lt": lt, "lte": le, "eq": eq}


def matching_records(
    records: Iterable[Document], query: Mapping[str, Any], filters: Filters
) -> list[Document]:
    values = active_filters(query, filters)
    return [each for each in records if all(filters[name](each, value) for name, value in values.items())]


def active_filters(query: Mapping[str, Any], filters: Filters) -> dict[str, Any]:
    """Return the parameters that filter, with their values; a boolean that is false filters nothing."""
    return {name: query[name] for name in filters if query.get(name, False) is not False}


def range_filters(name: str, number: Callable[[Any], Any], ends: Iterable[str] = ("from", "to")) -> Filters:
    """Return the filters of a number that records have: `name[from]`, `name[to]`, or other ends."""
    return {f"{name}[{end}]": end_filter(_COMPARISONS[end], number) for end in ends}


def end_filter(
    comparison: Callable[[int, int], bool], number: Callable[[Any], Any]
) -> Callable[[Any, Any], bool]:
    """Return the filter of one end; a record without such a number is not in the list."""
    return lambda record, end: isinstance(value := number(record), int) and comparison(value, end)


def has_tag(record: Document, tags: Collection[str]) -> bool:
    return not set(tags).isdisjoint(record.get("tags") or ())


def has_text(record: Document, text: str, names: Iterable[str], *, anywhere: bool = False) -> bool:
    """Return True if a text begins one of a record's members, or is `anywhere` in it, whatever its case."""
    values, text = (str(record.get(name, "")).casefold() for name in names), text.casefold()
    return not text or any(text in value if anywhere else value.startswith(text) for value in values)
