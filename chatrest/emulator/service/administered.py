"""The exceptions to the table of operations that administer an app: outcomes of two kinds, records that
follow from others, and keys that the service itself heeds.

The emulator runs no agent, reads no website and judges no message: what a rule would block, a call, and what
notifications log, are documents that a test puts into the store, such as
`store.documents.of("/calls").put(record, "session")`.
"""

from functools import partial
from typing import Any, Final

from msgspec.json import decode, encode

from ..._resources import OPERATIONS
from ...webhooks.event import EVENT_CLASSES
from ..store import Store
from ..store.data import EPOCH
from ..store.documents import Document, DocumentSet, selected
from ..store.message_index import conversation_id
from .administering import (
    COLLECTIONS,
    DocumentPath,
    documents_of,
    enveloped,
    existing,
    handler,
    matching,
    new_document,
)
from .context import Handler, ServiceCall
from .groups import party_record
from .messages import message_record
from .refusals import bad_request, outcomes, refused
from .users import path_user, user_record

KEYS: Final = "/apikeys"
ROLES: Final = "/roles"
WEBHOOKS: Final = "/apps/{appId}/webhooks"
TRIGGERS: Final = f"{WEBHOOKS}/{{webhookId}}/triggers"
_APPS: Final = "/apps"
_SCOPES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}
_MODELS: Final = "/ai-agents/agent-builder/agents/available-models"


def prepare(store: Store, app: Document, full_access: str, auth_only: str) -> None:
    """Put in what a service has from its beginning: the app, the default role, a model, and the keys."""
    for key, scope in ((full_access, "fullAccess"), (auth_only, "authOnly")):
        document = {"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdAt": EPOCH}
        store.documents.of(KEYS).put(document, key)
    if app:
        store.documents.of(_APPS).put(app, app["id"])
    store.documents.of(ROLES).put({"role": "default", "name": "Default", "createdAt": EPOCH}, "default")
    store.documents.of(_MODELS).put({"model": "emulated", "default": True})


def key_scope(store: Store, key: str) -> str:
    document = store.documents.of(KEYS).get(key)
    if document is None:
        raise refused("AUTH_ERR_APIKEY_NOT_FOUND", "API key")
    return str(document["scope"])


def _of_another_key(operation: Handler, call: ServiceCall) -> Any:
    """Do an operation on a key, refused for the key of the very call."""
    if call.path["apiKey"] == call.headers.get("apikey"):
        raise refused("ERR_APIKEY_NO_SELF_ACTION")
    return operation(call)


def _of_own_token(operation: Handler, call: ServiceCall) -> Any:
    """Do an operation on a login token, refused for the token of another user."""
    if call.store.auth_tokens.owner(call.path["authToken"]) not in (None, path_user(call)):
        raise refused("ERR_AUTHTOKEN_NOT_ACCESSIBLE")
    return operation(call)


def create_token(call: ServiceCall) -> Document:
    """Give an auth token; without `force` the newest one that was not given a scope, where there is one."""
    return call.store.auth_tokens.issue(path_user(call), call.now, fresh=call.body.get("force", False))


def create_app(call: ServiceCall) -> Document:
    """Add an app, which serves nothing, with a key of each scope."""
    app = new_document(call, DocumentPath(_APPS), call.store.documents.of(_APPS), call.body)
    keys = {f"{app['id']}-{scope}": scope for scope in _SCOPES}
    app["apiKeys"] = {key: {"apiKey": key, "name": _SCOPES[keys[key]], "scope": keys[key]} for key in keys}
    call.store.documents.of(_APPS).put(app, app["id"])
    return app


def add_triggers(call: ServiceCall) -> Document:
    """Add triggers, with an outcome for each: an unknown one is refused, one that is there is not."""
    triggers = documents_of(call, TRIGGERS)

    def add(id: str) -> str:
        if id not in EVENT_CLASSES:
            raise refused("ERR_TRIGGER_NOT_FOUND", id)
        triggers.put({"id": id}, id)
        return f"The trigger {id} has been added."

    return outcomes(call.body["triggerIds"], add)


def delete_role(call: ServiceCall) -> Any:
    if call.path["role"] == "default":
        raise refused("ERR_ROLE_DELETE_DENIED")
    return handler(OPERATIONS["roles.delete"])(call)


# ── permissions: an outcome of each beside the values of all ──


def _permissions(call: ServiceCall) -> DocumentSet:
    if call.path.get("scope", "admin") not in ("admin", "moderator", "participant"):
        raise bad_request({"scope": ["The scope must be one of admin, moderator, participant."]})
    return documents_of(call, OPERATIONS[f"rbac.list_{call.endpoint.name.rpartition('_')[2]}"].path)


def set_permissions(call: ServiceCall) -> Document:
    permissions, values = _permissions(call), call.body["permissions"]

    def set_one(id: str) -> str:
        permissions.put({"id": id, "value": values[id], "updatedAt": call.now}, id)
        return f"The permission {id} has been set."

    return outcomes(values, set_one) | _values(permissions)


def unset_permission(call: ServiceCall) -> Document:
    permissions = _permissions(call)
    permissions.delete(call.path["permission"])
    return _values(permissions)


def _values(permissions: DocumentSet) -> Document:
    return {"permissions": {each["id"]: each["value"] for each in permissions.list()}}


# ── moderation ──


_MODERATED: Final = "/moderation/messages"
_FIRST_ID: Final = 10**9
"""The first id of messages that are handed in: far from those of the app's own."""


def flag_message(call: ServiceCall) -> None:
    """List a message as flagged; by whom and why is not kept."""
    key = call.path["id"]
    message = decode(message_record(call, key), type=Document)
    call.store.documents.of("/moderation/flagged-messages").put(message, key)


def create_message(call: ServiceCall) -> Document:
    """Take a message for moderation, which stays pending; its parties exist, or are given."""
    kind, sender, receiver = (call.body[name] for name in ("receiverType", "sender", "receiver"))
    if "senderUserDetails" not in call.body:
        user_record(call, sender)
    if f"receiver{kind.capitalize()}Details" not in call.body:
        party_record(call, kind, receiver)
    at, body = call.body.get("sentAt", call.now), {"category": "message", "type": "text", **call.body}
    message = {name: value for name, value in body.items() if not name.endswith("Details")} | {
        "id": str(_FIRST_ID + call.store.documents.next_number()),
        "conversationId": f"group_{receiver}" if kind == "group" else conversation_id(sender, receiver),
        "data": {**call.body.get("data", {}), "moderation": {"status": "pending"}},
        "sentAt": at, "updatedAt": at,
    }  # fmt: skip
    call.store.documents.of(_MODERATED).put(message, message["id"])
    return message


def _with_terms(operation: Handler, call: ServiceCall) -> Any:
    """Do an operation on a keyword list whose terms are a comma-separated list, an array, or a file."""
    terms = call.body.pop("file", call.body.get("searchTerms", []))
    parts = terms.replace("\n", ",").split(",") if isinstance(terms, str) else terms
    call.body["searchTerms"] = [part.strip() for part in parts if part.strip()]
    return operation(call)


# ── agents ──


_KNOWLEDGE: Final = "/ai-agents/agent-builder/knowledge-base"


def list_knowledge(call: ServiceCall) -> list[Document]:
    kinds = {kind: call.store.documents.of(f"{_KNOWLEDGE}/{kind}") for kind in ("uploads", "website", "text")}
    return matching([{"type": kind, **each} for kind in kinds for each in kinds[kind].list()], call)


def poll(call: ServiceCall) -> bytes:
    return encode({"success": True, "data": dict.fromkeys(call.body["uniqueId"], "indexed")})


def list_enabled_items(call: ServiceCall) -> Document:
    """Return the names that an agent has of each kind."""
    agents = "/ai-agents/agent-builder/agents"
    agent = existing(call.store.documents.of(agents), agents, call.path["uid"])
    kinds = {"tools": "slug", "apiTools": "slug", "mcpServers": "slug", "frontendActions": "triggerFunction"}
    return {kind: [{key: name, "name": name} for name in agent.get(kind, ())] for kind, key in kinds.items()}


# ── notifications ──


def set_default(call: ServiceCall) -> Document:
    collection, chosen = call.endpoint.path.partition("/default/")[0], call.path["providerId"]
    documents = call.store.documents.of(collection)
    existing(documents, collection, chosen)
    for provider in documents.list():
        key = provider["providerId"]
        documents.put({**provider, "isDefault": key == chosen}, key)
    return {"success": True}


def _preferences(operation: Handler, call: ServiceCall) -> Document:
    """Show the preferences of a user by other names than those that are sent."""
    settings: Document = operation(call)
    named = {name.removesuffix("Preferences"): each for name, each in settings.items() if name.endswith("s")}
    return {"preferences": named, "sound": {}, "templates": selected(settings, ("usePrivacyTemplate",))}


_PUSH_TOKENS: Final = ("fcmToken", "deviceToken", "voipToken")


def _tokens(call: ServiceCall) -> DocumentSet:
    """Return the push tokens of a login's user."""
    uid = call.store.auth_tokens.owner(call.query.get("authToken") or call.body.get("authToken", ""))
    if uid is None:
        raise refused("AUTH_ERR_AUTH_TOKEN_NOT_FOUND")
    return call.store.documents.of("/notifications/push/v1/tokens", uid)


def register_push_token(call: ServiceCall) -> Document:
    tokens, names = _tokens(call), [name for name in _PUSH_TOKENS if name in call.body]
    if not names:
        raise bad_request({name: ["One of the tokens is required."] for name in _PUSH_TOKENS})
    token = {**call.body, "pushToken": call.body[names[0]], "pushTokenType": names[0].removesuffix("Token")}
    tokens.put(token | {"uid": call.store.auth_tokens.owner(call.body["authToken"])}, token["pushToken"])
    return {"success": True}


def push_tokens(call: ServiceCall) -> Document:
    """List or remove the push tokens of a login, or the one of the path; 404 for no such token."""
    tokens, key = _tokens(call), call.path.get("pushToken")
    login = call.query.get("authToken") or call.body["authToken"]
    chosen = [
        each
        for each in tokens.list()
        if each["pushToken"] == (key or each["pushToken"])
        and (call.query.get("all") or each["authToken"] == login)
    ]
    if key is not None and not chosen:
        raise refused("ERR_PUSH_TOKEN_NOT_FOUND")
    for token in chosen if call.endpoint.method == "DELETE" else ():
        tokens.delete(token["pushToken"])
    return {"pushTokens": chosen}


HANDLERS: dict[str, Handler] = {
    name: handler(endpoint)
    for name, endpoint in OPERATIONS.items()
    if name.partition(".")[0] in (*COLLECTIONS, "auth_tokens")
}
_BY_HAND: Final[dict[str, Handler]] = {
    "agents.list_enabled_items": list_enabled_items,
    "agents.list_knowledge": list_knowledge,
    "apps.create": create_app,
    "auth_tokens.create": create_token,
    "moderation.create_message": create_message,
    "moderation.flag_message": flag_message,
}
for _name, _work in _BY_HAND.items():
    HANDLERS[_name] = enveloped(OPERATIONS[_name], _work)
HANDLERS |= {
    "agents.poll_discovered_urls": poll,
    "agents.poll_knowledge_status": poll,
    "notifications.delete_push_token": push_tokens,
    "notifications.list_push_tokens": push_tokens,
    "notifications.register_push_token": register_push_token,
    "notifications.set_default_apns_provider": set_default,
    "notifications.set_default_fcm_provider": set_default,
    "notifications.unregister_push_tokens": push_tokens,
    **dict.fromkeys(("rbac.set_role", "rbac.set_scope"), set_permissions),
    **dict.fromkeys(("rbac.unset_role", "rbac.unset_scope"), unset_permission),
    "roles.delete": delete_role,
    "triggers.add": add_triggers,
}
for _names, _wrap in (
    (("api_keys.update", "api_keys.delete"), _of_another_key),
    (("auth_tokens.get", "auth_tokens.update", "auth_tokens.delete"), _of_own_token),
    (("notifications.get_preferences", "notifications.update_preferences"), _preferences),
    (("moderation.create_keyword_list", "moderation.update_keyword_list"), _with_terms),
):
    HANDLERS |= {name: partial(_wrap, HANDLERS[name]) for name in _names}
