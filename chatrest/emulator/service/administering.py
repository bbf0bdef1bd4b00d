"""The operations that administer an app, read from their table: no handler is written for them, but for the
few at the end of this file.

The emulator runs no agent, reads no website and judges no message: what a rule would block, a call, and what
notifications log, are documents that a test puts into the store, such as
`store.documents.of("/calls")["session"] = record`.

An operation's path says what it is about: `/a/{x}/b/{y}` is the document y of the collection `/a/{x}/b`.

| the path ends in | GET           | POST                | PUT, PATCH                     | DELETE           |
|------------------|---------------|---------------------|--------------------------------|------------------|
| `{parameter}`    | the document  |                     | changes it                     | removes it       |
| a collection     | its documents | makes one, or those | changes the one that the body  | removes those of |
|                  |               | of a list           | names                          | a list, else all |
| any other word   | a single one  | makes it            | changes it                     | removes it       |
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
from ..store import Store
from ..store.data import EPOCH
from ..store.documents import Document, DocumentSet, apply_changes, merged, selected
from ..store.message_index import parse_record
from .context import Handler, ServiceCall
from .groups import group_record
from .messages import message_record
from .refusals import ServiceRefusal, bad_request, outcomes, refused
from .users import path_user, user_record

COLLECTIONS: Final = frozenset(
    {
        "agents", "api_keys", "apps", "calls", "metrics", "moderation", "notifications", "rbac",
        "restricted_features", "roles", "triggers", "webhooks",
    }
)  # fmt: skip
_KEYS: Final = {
    "actions": "name", "custom": "_id", "discovered-urls": "urlId", "frontend-actions": "_id",
    "keywords": "id", "knowledge-base": "uniqueId", "restrictedfeatures": "key", "rules": "id",
    "webhooks": "id",
}  # fmt: skip
"""The members with the key of documents, where it is not the path's parameter, by the collection's end."""
_ITEMS: Final = frozenset({"conversations", "featuresToAllow", "featuresToRestrict", "files", "triggerIds"})
"""The members of bodies with documents, or with their keys."""
_HOLDERS: Final = frozenset({"mutedConversations", "pushProviders", "pushTokens", "uploads"})
_ALIASES: Final = {"/initiate": "", "/scrape": ""}
"""Ends of paths whose documents are those of another path."""
_NOUNS: Final = {
    "calls": "CALL_SESSION", "frontend-actions": "TOOL", "knowledge-base": "KB", "mcp-servers": "TOOL",
    "messages": "MESSAGE_ID", "providers": "PROVIDER",
}  # fmt: skip
"""The noun in the code of a 404, by a word of the collection; else it is the singular of its last plural."""
_PARTIES: Final = {"/users": user_record, "/groups": group_record}
"""What refuses an owner that does not exist, if it is no document."""

# ── what a path is about ──


class DocumentPath(NamedTuple):
    collection: str
    parameter: str = ""
    """The path's parameter with the document's key; empty for all documents, or for a single one."""
    is_list: bool = True


@cache
def key_member(collection: str) -> str:
    children = [each.path.removeprefix(f"{collection}/{{") for each in OPERATIONS.values()]
    named = next((each[:-1] for each in children if each.endswith("}") and "/" not in each), "id")
    return _KEYS.get(collection.rpartition("/")[2], named)


def document_path(endpoint: Endpoint[Any]) -> DocumentPath:
    path, is_listed = endpoint.path, isinstance(endpoint.reply, ManyRecords)
    if path.endswith("}") and not is_listed:
        collection, _, parameter = path.rpartition("/{")
        return DocumentPath(collection, parameter[:-1])
    end = path[path.rindex("/") :]
    path = path.removesuffix(end) + _ALIASES.get(end, end)
    return DocumentPath(path, is_list=is_listed or path in _lists())


@cache
def _lists() -> frozenset[str]:
    """Return the paths of collections: they are listed, their documents have paths, or bodies have items."""
    return frozenset(
        each.path.rpartition("/{")[0] if each.path.endswith("}") else each.path
        for each in OPERATIONS.values()
        if each.path.endswith("}")
        or isinstance(each.reply, ManyRecords)
        or (each.body is not None and not _ITEMS.isdisjoint(each.body.__struct_encode_fields__))
    )


@cache
def _made() -> frozenset[str]:
    """Return the collections that operations add to: whose documents exist, or are a 404."""
    return frozenset(document_path(each).collection for each in OPERATIONS.values() if each.method == "POST")


# ── documents ──


def documents_of(call: ServiceCall, collection: str) -> DocumentSet:
    """Return a collection's documents of this path, and of the user in the query, or of the acting user."""
    prefix, owners, documents = "", list[str](), call.store.documents
    for segment in collection.split("/")[1:]:
        if segment.startswith("{"):
            value = call.path[segment[1:-1]]
            if prefix in _PARTIES:
                _PARTIES[prefix](call, value)
            elif prefix in _made():
                existing(documents.of(prefix, "/".join(owners)), value)
            owners.append(value)
        prefix += f"/{segment}"
    if "uid" in call.query and prefix.startswith("/notifications/v1/preferences"):
        user_record(call, call.query["uid"])
        owners.append(call.query["uid"])
    elif call.endpoint.acting == "required":
        owners.append(str(call.acting_user))
    return documents.of(collection, "/".join(owners))


def existing(documents: DocumentSet, key: str) -> Document:
    if key in documents:
        return documents[key]
    words = documents.kind.split("/")
    plural = ([word for word in words if word in _NOUNS] or [word for word in words if word[-1:] == "s"])[-1]
    noun = _NOUNS.get(plural, plural.rpartition("-")[2].removesuffix("s").upper())
    text = f"The {noun.lower()} {key or words[-1]} does not exist."
    raise ServiceRefusal(404, f"ERR_{noun}_NOT_FOUND", text)


def new_document(call: ServiceCall, documents: DocumentSet) -> Document:
    """Store a document; 400 for a key that is taken."""
    member = key_member(documents.kind)
    key = str(call.body.get(member) or 10**9 + call.store.documents.next_number())
    if key in documents:
        raise bad_request({member: [f"The {member} has already been taken."]})
    documents[key] = {**call.body, member: key, "createdAt": call.now, "updatedAt": call.now}
    return documents[key]


def _work(about: DocumentPath, call: ServiceCall) -> Any:
    """Do what the table in this file's header says; return the document, or the documents."""
    documents, method = documents_of(call, about.collection), call.endpoint.method
    if not about.is_list:
        return _work_on(documents, "", call, must_exist="/providers/" in about.collection)
    if about.parameter:
        return _work_on(documents, call.path[about.parameter], call)
    if method == "GET":
        return _matching(documents.values(), call.query)
    items = [item for name in _ITEMS for item in call.body.get(name, ())]
    if method == "DELETE":
        same = [each for each in documents.values() if _is_equal(each, call.body)]
        keys = [_key_of(item, documents) for item in items or same]
        return [documents.pop(key) for key in keys if key in documents]
    if items:
        return outcomes([_key_of(item, documents) for item in items], partial(_put, call, documents, items))
    if method == "POST":
        return new_document(call, documents)
    return _work_on(documents, str(call.body.get(key_member(documents.kind), "")), call)


def _work_on(documents: DocumentSet, key: str, call: ServiceCall, *, must_exist: bool = True) -> Document:
    """Give, change, make or remove the document of a key."""
    method, member = call.endpoint.method, key_member(documents.kind)
    if method == "POST":
        documents.pop(key, None)
    old = existing(documents, key) if must_exist and method != "POST" else documents.get(key, {})
    if method == "DELETE":
        documents.pop(key, None)
        call.store.documents.clear_below(documents, key)
    elif method != "GET":
        own = selected(old, (member,)) | {"updatedAt": call.now}
        documents[key] = apply_changes(merged(old, call.body), own)
        return documents[key]
    return old


def _key_of(item: Any, documents: DocumentSet) -> str:
    """Return the key that an item is, or that it has as its member, or as its first one."""
    if not isinstance(item, dict):
        return str(item)
    return str(item.get(key_member(documents.kind), next(iter(item.values()), "")))


def _put(call: ServiceCall, documents: DocumentSet, items: list[Any], key: str) -> str:
    """Store an item as a document; one that is there already is a success, too."""
    new = next(each for each in items if _key_of(each, documents) == key)
    old = documents.get(key) or {"createdAt": call.now}
    documents[key] = old | (new if isinstance(new, dict) else {}) | {key_member(documents.kind): key}
    return "done"


def _change_names(adds: bool, call: ServiceCall) -> Document:
    """Change the names in lists of the first document in a path."""
    owner, _, rest = call.endpoint.path.partition("/{")
    document = existing(documents_of(call, owner), call.path[rest.partition("}")[0]])
    for member, names in call.body.items():
        others = [each for each in document.get(member, ()) if each not in names]
        document[member] = [*others, *names] if adds else others
    return document


_SEARCHES: Final = ("search", "searchKey", "key")
_PAGING: Final = frozenset(
    {"affix", "createdAt", "cursor", "id", "limit", "logId", "page", "perPage", "sentAt", "updatedAt"}
)


def _matching(documents: Iterable[Document], query: Mapping[str, Any]) -> list[Document]:
    """Return the documents with the text that a query searches for, and with the members that it has."""
    members = {name: each for name, each in query.items() if name not in _PAGING.union(_SEARCHES)}
    text = next((str(query[name]).casefold() for name in _SEARCHES if name in query), "")
    matches = [each for each in documents if _is_equal(each, members)]
    return [each for each in matches if text in str([*each.values()]).casefold()]


def _is_equal(document: Document, members: Mapping[str, Any]) -> bool:
    return all(document[name] == value for name, value in members.items() if name in document)


# ── replies ──


def handler(endpoint: Endpoint[Any], work: Callable[[ServiceCall], Any] | None = None) -> Handler:
    """Return the handler of an operation, by its path, its method and its reply; `work` is an exception."""
    about, reply, end = document_path(endpoint), endpoint.reply, endpoint.path.rpartition("/")[2]
    if work is None:
        changes = endpoint.method == "PATCH" and end in ("add", "remove")
        work = partial(_change_names, end == "add") if changes else partial(_work, about)

    def serve(call: ServiceCall) -> Any:
        result: Any = work(call)
        if isinstance(reply, ManyRecords):
            return [filled(reply.record, each, call) for each in result]
        if not isinstance(reply, OneRecord):
            return {"success": True, "message": "done"} if reply is ACK else result
        if holders := _HOLDERS.intersection(getattr(reply.record, "__struct_encode_fields__", ())):
            every = documents_of(call, about.collection).values()
            record = {min(holders): result if isinstance(result, list) else [*every]}
        else:
            record = filled(reply.record, result, call)
        return msgspec.json.encode(record) if reply.is_bare else record

    return serve


def filled(record: Any, document: Document, call: ServiceCall) -> Document:
    """Return a document with what its struct requires; a record in a record is the document."""
    given = {"appId": call.app.get("id", ""), **call.path, **call.body, **document}
    return document | {
        name: given[name] if name in given else "" if kind is str else filled(kind, document, call)
        for name, kind in _required(record).items()
    }


@cache
def _required(record: Any) -> dict[str, Any]:
    """Return the types of a struct's required members, by their names on the wire."""
    is_struct = isinstance(record, type) and issubclass(record, Struct)
    fields = structs.fields(record) if is_struct else ()
    return {each.encode_name: each.type for each in fields if each.required}


# ── the exceptions ──


KEYS: Final = "/apikeys"
ROLES: Final = "/roles"
_SCOPES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}


def prepare(store: Store, app: Document, full_access: str, auth_only: str) -> None:
    """Put in what a service has from its beginning: the app, the default role, and the keys."""
    for key, scope in ((full_access, "fullAccess"), (auth_only, "authOnly")):
        document = {"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdAt": EPOCH}
        store.documents.of(KEYS)[key] = document
    if app:
        store.documents.of("/apps")[app["id"]] = app
    store.documents.of(ROLES)["default"] = {"role": "default", "name": "Default", "createdAt": EPOCH}


def key_scope(store: Store, key: str) -> str:
    document = store.documents.of(KEYS).get(key)
    if document is None:
        raise refused("AUTH_ERR_APIKEY_NOT_FOUND", "API key")
    return str(document["scope"])


def _create_app(call: ServiceCall) -> Document:
    """Add an app, which serves nothing, with a key of each scope."""
    app = new_document(call, call.store.documents.of("/apps"))
    keys = {f"{app['id']}-{scope}": scope for scope in _SCOPES}
    app["apiKeys"] = {key: {"apiKey": key, "name": _SCOPES[keys[key]], "scope": keys[key]} for key in keys}
    return app


def _create_token(call: ServiceCall) -> Document:
    """Give an auth token; without `force` the newest one that was not given a scope, where there is one."""
    return call.store.auth_tokens.issue(path_user(call), call.now, fresh=call.body.get("force", False))


def _permissions(call: ServiceCall) -> Document:
    """Set or unset permissions: an outcome of each that is set beside the values of all."""
    permissions = documents_of(call, call.endpoint.path.removesuffix("/{permission}"))
    values = call.body.get("permissions", {})
    for name, value in values.items():
        permissions[name] = {"id": name, "value": value, "updatedAt": call.now}
    permissions.pop(call.path.get("permission", ""), None)
    done = outcomes(values, lambda name: f"The permission {name} has been set.")
    return done | {"permissions": {each["id"]: each["value"] for each in permissions.values()}}


def _flag_message(call: ServiceCall) -> None:
    """List a message as flagged; by whom and why is not kept."""
    flagged, number = call.store.documents.of("/moderation/flagged-messages"), call.path["id"]
    flagged[number] = parse_record(message_record(call, number))


def _set_default(call: ServiceCall) -> None:
    providers = documents_of(call, call.endpoint.path.partition("/default/")[0])
    existing(providers, call.path["providerId"])
    for key, provider in providers.items():
        provider["isDefault"] = key == call.path["providerId"]


def _register_push_token(call: ServiceCall) -> None:
    """Store a device's token, which is its own key, under whichever name it came."""
    names = [name for name in ("fcmToken", "deviceToken", "voipToken") if name in call.body]
    if not names:
        raise bad_request({"fcmToken": ["One of the tokens is required."]})
    token = call.body[names[0]]
    documents_of(call, call.endpoint.path)[token] = {**call.body, "pushToken": token}


def _keyword_list(call: ServiceCall) -> Document:
    given = call.body.pop("file", call.body.get("searchTerms", ""))
    terms = (given if isinstance(given, str) else ",".join(given)).replace("\n", ",").split(",")
    call.body["searchTerms"] = [term.strip() for term in terms if term.strip()]
    return dict(_work(document_path(call.endpoint), call))


def _preferences(call: ServiceCall) -> Document:
    """Show the preferences of a user by other names than those that are sent."""
    settings: Document = _work(document_path(call.endpoint), call)
    named = {name.removesuffix("Preferences"): each for name, each in settings.items() if name.endswith("s")}
    return {"preferences": named, "sound": {}, "templates": selected(settings, ("usePrivacyTemplate",))}


_EXCEPTIONS: Final[dict[str, Callable[[ServiceCall], Any]]] = {
    "apps.create": _create_app,
    "auth_tokens.create": _create_token,
    "moderation.flag_message": _flag_message,
    **{f"moderation.{verb}_keyword_list": _keyword_list for verb in ("create", "update")},
    **dict.fromkeys(("notifications.get_preferences", "notifications.update_preferences"), _preferences),
    "notifications.register_push_token": _register_push_token,
    **{f"notifications.set_default_{kind}_provider": _set_default for kind in ("apns", "fcm")},
    **dict.fromkeys(("rbac.set_role", "rbac.set_scope", "rbac.unset_role", "rbac.unset_scope"), _permissions),
}
HANDLERS: Final[dict[str, Handler]] = {
    name: handler(endpoint, _EXCEPTIONS.get(name))
    for name, endpoint in OPERATIONS.items()
    if name.partition(".")[0] in (*COLLECTIONS, "auth_tokens")
}
