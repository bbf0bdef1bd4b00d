"""The handlers that follow from the table of operations: each keeps and shows documents, by its path.

| the path ends in | GET           | POST                | PUT, PATCH                     | DELETE           |
|------------------|---------------|---------------------|--------------------------------|------------------|
| `{parameter}`    | the document  |                     | changes it                     | removes it       |
| a collection     | its documents | makes one, or those | changes the one that the body  | removes those of |
|                  |               | of a list           | names                          | a list, else all |
| any other word   | a single one  | makes or changes it | changes it                     | removes it       |
| `add`, `remove`  |               |                     | names in lists of a document   |                  |

A document has what its body had, times, and a key of a number that no document ever had. What is not there is
a 404, in the path as well. A reply has what its struct requires beside: from the path or the body, or an
empty value of its type.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from ..._core.replies.decode import ACK, ManyRecords
from ..._core.replies.one_record import OneRecord
from ..._core.requests.endpoint import Endpoint
from ..._resources import OPERATIONS
from ..store.documents import Document, DocumentSet, apply_changes, merged, selected
from .groups import group_record
from .handler_input import Handler, ServiceCall
from .refusals import ServiceRefusal, act_on_each, bad_request
from .reply_forms import ack
from .users import user_record

_ITEM_MEMBERS: Final = {"conversations", "featuresToAllow", "featuresToRestrict", "files", "triggerIds"}
"""The members of bodies with documents, or with their keys."""
_KEY_MEMBERS: Final = {
    "actions": "name", "custom": "_id", "discovered-urls": "urlId", "frontend-actions": "_id",
    "keywords": "id", "knowledge-base": "uniqueId", "restrictedfeatures": "key", "rules": "id",
    "webhooks": "id",
}  # fmt: skip
"""The members with the key of documents, where it is not the path's parameter, by the collection's end."""
_ALIASES: Final = {"/initiate": "", "/scrape": ""}
"""Ends of paths whose documents are those of another path."""
_LIST_MEMBERS: Final = frozenset({"mutedConversations", "pushProviders", "pushTokens", "uploads"})
"""The members of a reply that have the documents of the collection."""
_NOUNS: Final = {
    "calls": "CALL_SESSION", "frontend-actions": "TOOL", "knowledge-base": "KB", "mcp-servers": "TOOL",
    "messages": "MESSAGE_ID", "providers": "PROVIDER",
}  # fmt: skip
"""The noun in the code of a 404, by a word of the collection; else it is the singular of its last plural."""
_OWNERS: Final = {"/users": user_record, "/groups": group_record}
"""What refuses an owner that does not exist, if it is no document."""
_SEARCHES: Final = ("search", "searchKey", "key")
_NO_FILTERS: Final = {
    *_SEARCHES, "affix", "createdAt", "cursor", "id", "limit", "logId", "page", "perPage", "sentAt",
    "updatedAt",
}  # fmt: skip
"""The parameters that search or page; all others are members that documents must have."""


class DocumentPath(NamedTuple):
    collection: str
    parameter: str = ""
    """The path's parameter with the document's key; empty for all documents, or for a single one."""
    is_list: bool = True


def document_path(endpoint: Endpoint[Any]) -> DocumentPath:
    path, has_records = endpoint.path, isinstance(endpoint.reply, ManyRecords)
    if path.endswith("}") and not has_records:
        collection, _, parameter = path.rpartition("/{")
        return DocumentPath(collection, parameter[:-1])
    end = path[path.rindex("/") :]
    path = path.removesuffix(end) + _ALIASES.get(end, end)
    return DocumentPath(path, is_list=has_records or path in _collections())


@cache
def key_member(collection: str) -> str:
    children = [each.path.removeprefix(f"{collection}/{{") for each in OPERATIONS.values()]
    parameter = next((each[:-1] for each in children if each.endswith("}") and "/" not in each), "id")
    return _KEY_MEMBERS.get(collection.rpartition("/")[2], parameter)


@cache
def _growing_collections() -> frozenset[str]:
    """Return the collections that operations add to: what is not in them is a 404."""
    return frozenset(document_path(each).collection for each in OPERATIONS.values() if each.method == "POST")


@cache
def _collections() -> frozenset[str]:
    """Return the paths of collections: they are listed, their documents have paths, or bodies have items."""
    return frozenset(
        each.path.rpartition("/{")[0] if each.path.endswith("}") else each.path
        for each in OPERATIONS.values()
        if each.path.endswith("}")
        or isinstance(each.reply, ManyRecords)
        or (each.body is not None and not _ITEM_MEMBERS.isdisjoint(each.body.__struct_encode_fields__))
    )


def document_handler(endpoint: Endpoint[Any], act: Callable[[ServiceCall], Any] | None = None) -> Handler:
    """Return the handler of an operation; `act` replaces what follows from its path and its method."""
    path, reply, end = document_path(endpoint), endpoint.reply, endpoint.path.rpartition("/")[2]
    if act is None:
        act = partial(_change_names, end == "add") if end in ("add", "remove") else apply_operation

    def handle(call: ServiceCall) -> Any:
        result: Any = act(call)
        if isinstance(reply, ManyRecords):
            return [_complete(reply.record, each, call) for each in result]
        if not isinstance(reply, OneRecord):
            return ack("done") if reply is ACK else result
        if members := _LIST_MEMBERS.intersection(getattr(reply.record, "__struct_encode_fields__", ())):
            documents = documents_of(call, path.collection).values()
            record = {min(members): result if isinstance(result, list) else [*documents]}
        else:
            record = _complete(reply.record, result, call)
        return msgspec.json.encode(record) if reply.is_bare else record

    return handle


def apply_operation(call: ServiceCall) -> Any:
    """Do what the table in this file's header says; return the document, or the documents."""
    path, method = document_path(call.endpoint), call.endpoint.method
    documents = documents_of(call, path.collection)
    if not path.is_list:
        return _apply_to_one(documents, "", call, must_exist="/providers/" in path.collection)
    if path.parameter:
        return _apply_to_one(documents, call.path[path.parameter], call)
    if method == "GET":
        return _matching(documents.values(), call.query)
    items = [item for name in _ITEM_MEMBERS for item in call.body.get(name, ())]
    if method == "DELETE":
        equal = [each for each in documents.values() if _has_members(each, call.body)]
        keys = [_key_of(item, documents) for item in items or equal]
        return [documents.pop(key) for key in keys if key in documents]
    if items:
        keys = [_key_of(item, documents) for item in items]
        return act_on_each(keys, partial(_add_item, call, documents, items))
    if method == "POST":
        return add_document(call, documents)
    return _apply_to_one(documents, str(call.body.get(key_member(documents.kind), "")), call)


def documents_of(call: ServiceCall, collection: str) -> DocumentSet:
    """Return a collection's documents of this path, and of the user in the query, or of the acting user."""
    prefix, owners, documents = "", list[str](), call.store.documents
    for segment in collection.split("/")[1:]:
        if segment.startswith("{"):
            key = call.path[segment[1:-1]]
            if prefix in _OWNERS:
                _OWNERS[prefix](call, key)
            elif prefix in _growing_collections():
                existing_document(documents.of(prefix, "/".join(owners)), key)
            owners.append(key)
        prefix += f"/{segment}"
    if "uid" in call.query and prefix.startswith("/notifications/v1/preferences"):
        user_record(call, call.query["uid"])
        owners.append(call.query["uid"])
    elif call.endpoint.acting == "required":
        owners.append(str(call.acting_user))
    return documents.of(collection, "/".join(owners))


def existing_document(documents: DocumentSet, key: str) -> Document:
    if key in documents:
        return documents[key]
    words = documents.kind.split("/")
    plural = ([word for word in words if word in _NOUNS] or [word for word in words if word[-1:] == "s"])[-1]
    noun = _NOUNS.get(plural, plural.rpartition("-")[2].removesuffix("s").upper())
    text = f"The {noun.lower()} {key or words[-1]} does not exist."
    raise ServiceRefusal(404, f"ERR_{noun}_NOT_FOUND", text)


def add_document(call: ServiceCall, documents: DocumentSet) -> Document:
    """Store the body as a document; 400 for a key that is taken."""
    member = key_member(documents.kind)
    key = str(call.body.get(member) or 10**9 + call.store.documents.next_number())
    if key in documents:
        raise bad_request({member: [f"The {member} has already been taken."]})
    documents[key] = {**call.body, member: key, "createdAt": call.now, "updatedAt": call.now}
    return documents[key]


def _apply_to_one(
    documents: DocumentSet, key: str, call: ServiceCall, *, must_exist: bool = True
) -> Document:
    method, member = call.endpoint.method, key_member(documents.kind)
    is_optional = method == "POST" or not must_exist
    document = documents.get(key, {}) if is_optional else existing_document(documents, key)
    if method == "DELETE":
        documents.pop(key, None)
        call.store.documents.clear_below(documents, key)
    elif method != "GET":
        own = selected(document, (member,)) | {"updatedAt": call.now}
        documents[key] = document = apply_changes(merged(document, call.body), own)
    return document


def _key_of(item: Any, documents: DocumentSet) -> str:
    """Return the key that an item is, or that it has as its member, or as its first one."""
    if not isinstance(item, dict):
        return str(item)
    return str(item.get(key_member(documents.kind), next(iter(item.values()), "")))


def _add_item(call: ServiceCall, documents: DocumentSet, items: list[Any], key: str) -> str:
    """Store an item as a document; one that is there already is a success, too."""
    item = next(each for each in items if _key_of(each, documents) == key)
    members = item if isinstance(item, dict) else {}
    documents[key] = {"createdAt": call.now, **members, key_member(documents.kind): key}
    return "done"


def _change_names(is_added: bool, call: ServiceCall) -> Document:
    """Add names to lists of the first document in a path, or remove them."""
    collection, _, end = call.endpoint.path.partition("/{")
    document = existing_document(documents_of(call, collection), call.path[end.partition("}")[0]])
    for member, names in call.body.items():
        others = [each for each in document.get(member, ()) if each not in names]
        document[member] = [*others, *names] if is_added else others
    return document


def _matching(documents: Iterable[Document], query: Mapping[str, Any]) -> list[Document]:
    """Return the documents with the text that a query searches for, and with the members that it has."""
    members = {name: each for name, each in query.items() if name not in _NO_FILTERS}
    text = next((str(query[name]).casefold() for name in _SEARCHES if name in query), "")
    matches = [each for each in documents if _has_members(each, members)]
    return [each for each in matches if text in str([*each.values()]).casefold()]


def _has_members(document: Document, members: Mapping[str, Any]) -> bool:
    """Return True if no member of a document differs; one that it lacks is no difference."""
    return all(document[name] == value for name, value in members.items() if name in document)


def _complete(record: Any, document: Document, call: ServiceCall) -> Document:
    """Return a document with what its struct requires; a record in a record is the document."""
    values = {"appId": call.app["id"], **call.path, **call.body, **document}
    return document | {
        name: values[name] if name in values else "" if kind is str else _complete(kind, document, call)
        for name, kind in _required_members(record).items()
    }


@cache
def _required_members(record: Any) -> dict[str, Any]:
    is_struct = isinstance(record, type) and issubclass(record, Struct)
    fields = structs.fields(record) if is_struct else ()
    return {each.encode_name: each.type for each in fields if each.required}
