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
| `add`, `remove`  |               |                     | names in a list of a document, |                  |
|                  |               |                     | or documents                   |                  |

A document has what its body had, times, and a key of a number that no document ever had. What is not there is
a 404, in the path as well. A reply has what its struct requires beside: from the path or the body, or an
empty value of its type.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from ..._core.replies.decode import ACK, ManyRecords, OneRecord
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
_AGENTS: Final = "/ai-agents/"
"""The beginning of the paths whose documents have times in milliseconds."""
_KEYS: Final = {
    "actions": "name", "custom": "_id", "discovered-urls": "urlId", "frontend-actions": "_id",
    "keywords": "id", "knowledge-base": "uniqueId", "restrictedfeatures": "key", "rules": "id",
    "webhooks": "id",
}  # fmt: skip
"""The members with the key of documents, by the last word of the collection, where it is not named like the
path's parameter.
"""
_ITEMS: Final = frozenset({"conversations", "featuresToAllow", "featuresToRestrict", "files", "triggerIds"})
"""The members of bodies with documents, or with their keys."""
_HOLDERS: Final = frozenset({"mutedConversations", "pushProviders", "pushTokens", "uploads"})
"""The members of replies with the documents of a collection."""
_ALIASES: Final = {"/all": "/custom", "/scrape": "", "/initiate": ""}
"""Ends of paths whose documents are those of another path."""
_NAMED: Final = {
    "mcps": "mcpServers",
    "text": "otherKbIntegrations",
    "uploads": "files",
    "website": "websites",
}
"""The lists of an agent, where they are not named like the member of a body."""
_NOUNS: Final = {
    "api-tools": "TOOL", "calls": "CALL_SESSION", "frontend-actions": "TOOL", "knowledge-base": "KB",
    "mcp-servers": "TOOL", "messages": "MESSAGE_ID", "providers": "PROVIDER", "tokens": "PUSH_TOKEN",
}  # fmt: skip
"""The noun in the code of a 404, by a word of the collection; else it is the singular of its last plural."""
_PARTIES: Final = {"/users": user_record, "/groups": group_record}
"""What refuses an owner that does not exist, if it is no document."""

Work: TypeAlias = Callable[[ServiceCall], Any]


# ── what a path is about ──


class DocumentPath(NamedTuple):
    """The subject of a path."""

    collection: str
    parameter: str = ""
    """The path's parameter with the document's key; empty for all documents, or for a single one."""
    is_list: bool = True


@cache
def key_member(collection: str) -> str:
    """Return the documents' member with their key."""
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
    # Webhooks of calls without the header are others.
    owners = [call.headers.get("x-webhook-version", "")] if "/webhooks" in collection else []
    prefix, documents = "", call.store.documents
    for segment in collection.split("/")[1:]:
        if segment.startswith("{"):
            value = call.path[segment[1:-1]]
            if prefix in _PARTIES:
                _PARTIES[prefix](call, value)
            elif prefix in _made() and prefix in _lists():
                existing(documents.of(prefix, "" if prefix == "/apps" else "/".join(owners)), value)
            owners.append(value)
        prefix += f"/{segment}"
    if "uid" in call.query and prefix.startswith("/notifications/v1/preferences"):
        user_record(call, call.query["uid"])
        owners.append(call.query["uid"])
    elif call.endpoint.acting == "required":
        owners.append(str(call.acting_user))
    return documents.of(collection, "/".join(owners))


def existing(documents: DocumentSet, key: str) -> Document:
    """Return a document; 404 where there is none."""
    if key in documents:
        return documents[key]
    words = documents.kind.split("/")
    plural = [word for word in words if word in _NOUNS] or [word for word in words if word.endswith("s")]
    noun = _NOUNS.get(plural[-1], plural[-1].removesuffix("s").upper())
    shown = key or documents.kind.rpartition("/")[2]
    text = f"The {noun.lower()} {shown} does not exist."
    raise ServiceRefusal(404, f"ERR_{noun}_NOT_FOUND", text)


def new_document(call: ServiceCall, documents: DocumentSet) -> Document:
    """Store a document; 400 for a key that is taken."""
    member = key_member(documents.kind)
    key = str(call.body.get(member) or 10**9 + call.store.documents.next_number())
    if key in documents:
        raise bad_request({member: [f"The {member} has already been taken."]})
    documents[key] = {**call.body, member: key, **_times(call, documents, "createdAt", "updatedAt")}
    return documents[key]


def _times(call: ServiceCall, documents: DocumentSet, *names: str) -> Document:
    return dict.fromkeys(names, call.now_ms if documents.kind.startswith(_AGENTS) else call.now)


# ── what is done ──


def handler(endpoint: Endpoint[Any]) -> Handler:
    """Return the handler of an operation, by its path, its method and its reply."""
    end = endpoint.path.rpartition("/")[2]
    if endpoint.method == "PATCH" and end in ("add", "remove"):
        before = endpoint.path.removesuffix(f"/{end}")
        change = _change_documents if before in _lists() else _change_names
        return enveloped(endpoint, partial(change, before, end == "add"))
    return enveloped(endpoint, partial(_work, document_path(endpoint)))


def _work(about: DocumentPath, call: ServiceCall) -> Any:
    documents, method = documents_of(call, about.collection), call.endpoint.method
    if not about.is_list:
        return _work_on(documents, "", call, must_exist="/providers/" in about.collection)
    if about.parameter:
        return _work_on(documents, call.path[about.parameter], call)
    if method == "GET":
        return matching(documents.values(), call)
    items = [item for name in _ITEMS for item in call.body.get(name, ())]
    if method == "DELETE":
        return _removed(documents, items or [*_equal(documents.values(), call.body)])
    if items:
        return _put(call, documents, items)
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
        own = {name: old[name] for name in (member,) if name in old} | _times(call, documents, "updatedAt")
        documents[key] = apply_changes(merged(old, call.body), own)
        return documents[key]
    return old


def _key_of(item: Any, documents: DocumentSet) -> str:
    """Return the key that an item is, or that it has as its member, or as its first one."""
    if not isinstance(item, dict):
        return str(item)
    return str(item.get(key_member(documents.kind), next(iter(item.values()), "")))


def _put(call: ServiceCall, documents: DocumentSet, items: Iterable[Any]) -> Document:
    """Store items as documents; one that is there already is a success, too."""
    by_key = {_key_of(item, documents): item for item in items}

    def put(key: str) -> str:
        old, item = documents.get(key) or _times(call, documents, "createdAt"), by_key[key]
        new = item if isinstance(item, dict) else {}
        documents[key] = {**old, **new, key_member(documents.kind): key}
        return "done"

    return outcomes(by_key, put)


def _removed(documents: DocumentSet, items: Iterable[Any]) -> list[Document]:
    """Remove the documents of these items; return them."""
    keys = [_key_of(item, documents) for item in items]
    return [documents.pop(key) for key in keys if key in documents]


def _change_documents(before: str, adds: bool, call: ServiceCall) -> Any:
    documents = documents_of(call, before)
    names = [name for value in call.body.values() if isinstance(value, list | tuple) for name in value]
    return _put(call, documents, names) if adds else _removed(documents, names)


def _change_names(before: str, adds: bool, call: ServiceCall) -> Document:
    owner, _, parameter = before.partition("/{")
    document = existing(documents_of(call, owner), call.path[parameter.partition("}")[0]])
    for member, names in call.body.items():
        member = _NAMED.get(call.path.get("sourceType", member), member)
        others = [each for each in document.get(member, ()) if each not in names]
        document[member] = [*others, *names] if adds else others
    return document


def matching(documents: Iterable[Document], call: ServiceCall) -> list[Document]:
    """Return the documents that a query lets through: a text in one of `_SEARCHED`, and equal members."""
    query = {name: value for name, value in call.query.items() if name not in _PAGING}
    texts = [str(query.pop(name)).casefold() for name in ("search", "searchKey", "key") if name in query]
    return [
        each
        for each in _equal(documents, query)
        if all(any(text in str(each.get(name, "")).casefold() for name in _SEARCHED) for text in texts)
    ]


def _equal(documents: Iterable[Document], members: Mapping[str, Any]) -> Iterator[Document]:
    """Give the documents that differ in none of these members that they have."""
    for each in documents:
        if all(each[name] == value for name, value in members.items() if name in each):
            yield each


_SEARCHED: Final = ("name", "description", "id", "uid", "slug")
_PAGING: Final = frozenset(
    {"affix", "createdAt", "cursor", "id", "limit", "logId", "page", "perPage", "sentAt", "updatedAt"}
)


# ── replies ──


def enveloped(endpoint: Endpoint[Any], work: Work) -> Handler:
    """Return the handler that gives what `work` gives, in the form of the operation's reply."""
    reply = endpoint.reply
    if isinstance(reply, ManyRecords):
        return lambda call: [filled(reply.record, each, call) for each in work(call)]
    if reply is ACK:
        return lambda call: (work(call), {"success": True, "message": "done"})[1]
    if not isinstance(reply, OneRecord):
        return work

    return partial(_record_handler, endpoint, work, reply.is_bare)


def _record_handler(endpoint: Endpoint[Any], work: Work, is_bare: bool, call: ServiceCall) -> Any:
    record = _shown(endpoint, work(call), call)
    return msgspec.json.encode(record) if is_bare else record


def _shown(endpoint: Endpoint[Any], value: Any, call: ServiceCall) -> Any:
    """Return what a reply of one record shows of the document, or of the documents, that it is about."""
    record: Any = getattr(endpoint.reply, "record", None)
    names = set(record.__struct_encode_fields__) if _is_struct(record) else set()
    if holders := names & _HOLDERS:
        every = documents_of(call, document_path(endpoint).collection).values()
        return {holders.pop(): value if isinstance(value, list) else [*every]}
    if "agent" in names:
        return {"agent": value}
    if "success" in names:
        return {"success": True} | ({"data": value} if "data" in names else {})
    return {"deleted": True} if names == {"deleted"} else filled(record, value, call)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def filled(record: Any, document: Document, call: ServiceCall) -> Document:
    """Return a document with what its struct requires."""
    if _required(record).keys() <= document.keys():
        return document
    given = {"appId": call.app.get("id", ""), **call.path, **call.body}
    lacking = {
        name: given[name] if name in given else _empty(kind, call)
        for name, kind in _required(record).items()
        if name not in document
    }
    return {**document, **lacking}


@cache
def _required(record: Any) -> dict[str, Any]:
    """Return the types of a struct's required members, by their names on the wire."""
    fields = structs.fields(record) if _is_struct(record) else ()
    return {each.encode_name: each.type for each in fields if each.required}


def _empty(kind: Any, call: ServiceCall) -> Any:
    if _is_struct(kind):
        return filled(kind, {}, call)
    parts = [each for each in get_args(kind) if each not in (type(None), msgspec.UnsetType)]
    origin = get_origin(kind) or kind
    if parts and origin not in (dict, tuple, list):
        return _empty(parts[0], call)
    return {str: "", int: 0, bool: True, tuple: [], list: []}.get(origin, {})


# ── the exceptions ──


KEYS: Final = "/apikeys"
ROLES: Final = "/roles"
_SCOPES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}
_MODELS: Final = "/ai-agents/agent-builder/agents/available-models"
_KNOWLEDGE: Final = "/ai-agents/agent-builder/knowledge-base"
_PUSH_TOKENS: Final = "/notifications/push/v1/tokens"


def prepare(store: Store, app: Document, full_access: str, auth_only: str) -> None:
    """Put in what a service has from its beginning: the app, the default role, a model, and the keys."""
    for key, scope in ((full_access, "fullAccess"), (auth_only, "authOnly")):
        document = {"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdAt": EPOCH}
        store.documents.of(KEYS)[key] = document
    if app:
        store.documents.of("/apps")[app["id"]] = app
    store.documents.of(ROLES)["default"] = {"role": "default", "name": "Default", "createdAt": EPOCH}
    store.documents.of(_MODELS)[""] = {"model": "emulated", "default": True}


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
    if call.path.get("scope", "admin") not in ("admin", "moderator", "participant"):
        raise bad_request({"scope": ["The scope must be one of admin, moderator, participant."]})
    permissions = documents_of(call, call.endpoint.path.removesuffix("/{permission}"))
    values = call.body.get("permissions", {})
    for name, value in values.items():
        permissions[name] = {"id": name, "value": value, "updatedAt": call.now}
    permissions.pop(call.path.get("permission", ""), None)
    done = outcomes(values, lambda name: f"The permission {name} has been set.")
    return done | {"permissions": {each["id"]: each["value"] for each in permissions.values()}}


def _flag_message(call: ServiceCall) -> None:
    """List a message as flagged; by whom and why is not kept."""
    message = parse_record(message_record(call, call.path["id"]))
    call.store.documents.of("/moderation/flagged-messages")[call.path["id"]] = message


def _with_terms(operation: Handler, call: ServiceCall) -> Any:
    """Do an operation on a keyword list whose terms are a comma-separated list, an array, or a file."""
    terms = call.body.pop("file", call.body.get("searchTerms", []))
    parts = (terms if isinstance(terms, str) else ",".join(terms)).replace("\n", ",").split(",")
    call.body["searchTerms"] = [part.strip() for part in parts if part.strip()]
    return operation(call)


def _list_knowledge(call: ServiceCall) -> list[Document]:
    kinds = {kind: call.store.documents.of(f"{_KNOWLEDGE}/{kind}") for kind in ("uploads", "website", "text")}
    return matching([{"type": kind, **each} for kind in kinds for each in kinds[kind].values()], call)


def _poll(call: ServiceCall) -> bytes:
    return msgspec.json.encode({"success": True, "data": dict.fromkeys(call.body["uniqueId"], "indexed")})


def _set_default(call: ServiceCall) -> Document:
    providers, chosen = (
        documents_of(call, call.endpoint.path.partition("/default/")[0]),
        call.path["providerId"],
    )
    existing(providers, chosen)
    for key, provider in providers.items():
        provider["isDefault"] = key == chosen
    return {"success": True}


def _preferences(operation: Handler, call: ServiceCall) -> Document:
    """Show the preferences of a user by other names than those that are sent."""
    settings: Document = operation(call)
    named = {name.removesuffix("Preferences"): each for name, each in settings.items() if name.endswith("s")}
    return {"preferences": named, "sound": {}, "templates": selected(settings, ("usePrivacyTemplate",))}


def _register_push_token(call: ServiceCall) -> Document:
    """Store a push token of a login; of each kind there is another member for it."""
    if call.store.auth_tokens.owner(call.body["authToken"]) is None:
        raise refused("AUTH_ERR_AUTH_TOKEN_NOT_FOUND")
    names = [name for name in ("fcmToken", "deviceToken", "voipToken") if name in call.body]
    if not names:
        raise bad_request({"fcmToken": ["One of the tokens is required."]})
    kind, token = names[0].removesuffix("Token"), call.body[names[0]]
    call.store.documents.of(_PUSH_TOKENS)[token] = {**call.body, "pushToken": token, "pushTokenType": kind}
    return {"success": True}


HANDLERS: dict[str, Handler] = {
    name: handler(endpoint)
    for name, endpoint in OPERATIONS.items()
    if name.partition(".")[0] in (*COLLECTIONS, "auth_tokens")
}
for _operation in ("get_preferences", "update_preferences"):
    HANDLERS[f"notifications.{_operation}"] = partial(_preferences, HANDLERS[f"notifications.{_operation}"])
for _operation in ("create_keyword_list", "update_keyword_list"):
    HANDLERS[f"moderation.{_operation}"] = partial(_with_terms, HANDLERS[f"moderation.{_operation}"])
HANDLERS |= {
    "agents.list_knowledge": _list_knowledge,
    "agents.poll_discovered_urls": _poll,
    "agents.poll_knowledge_status": _poll,
    "apps.create": enveloped(OPERATIONS["apps.create"], _create_app),
    "auth_tokens.create": _create_token,
    "moderation.flag_message": enveloped(OPERATIONS["moderation.flag_message"], _flag_message),
    "notifications.register_push_token": _register_push_token,
    "notifications.set_default_apns_provider": _set_default,
    "notifications.set_default_fcm_provider": _set_default,
    **dict.fromkeys(("rbac.set_role", "rbac.set_scope", "rbac.unset_role", "rbac.unset_scope"), _permissions),
}
