"""The operations that administer an app: all are read from their table, but for the exceptions below.

The emulator runs no agent, reads no website and judges no message. What a rule would block, a call, and what
notifications log, are documents that a test puts into the store, such as
`store.documents.of("/calls")["session"] = record`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..._resources import OPERATIONS
from ..store import Store
from ..store.documents import Document, selected
from ..store.generated_data import EPOCH
from ..store.message_index import parse_record
from .document_operations import (
    add_document,
    apply_operation,
    document_handler,
    documents_of,
    existing_document,
)
from .handler_input import Context, Handler, ServiceCall
from .messages import message_record
from .refusals import act_on_each, bad_request, refusal
from .users import path_user

ROLES_PATH: Final = "/roles"
_APPS_PATH: Final = "/apps"
_KEYS_PATH: Final = "/apikeys"
_KEY_NAMES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}
"""The name of an app's key by its scope."""


def add_first_documents(context: Context, keys: Mapping[str, str]) -> None:
    """Store what a service has from its beginning: the app, its keys by scope, and the default role."""
    documents = context.store.documents
    documents.of(_APPS_PATH)[str(context.app["id"])] = dict(context.app)
    for scope, key in keys.items():
        document = {"apiKey": key, "name": _KEY_NAMES[scope], "scope": scope, "createdAt": EPOCH}
        documents.of(_KEYS_PATH)[key] = document
    documents.of(ROLES_PATH)["default"] = {"role": "default", "name": "Default", "createdAt": EPOCH}


def key_scope(store: Store, key: str) -> str:
    document = store.documents.of(_KEYS_PATH).get(key)
    if document is None:
        raise refusal("AUTH_ERR_APIKEY_NOT_FOUND", "API key")
    return str(document["scope"])


def _create_app(call: ServiceCall) -> Document:
    app = add_document(call, call.store.documents.of(_APPS_PATH))
    keys = {scope: f"{app['id']}-{scope}" for scope in _KEY_NAMES}
    app["apiKeys"] = {
        key: {"apiKey": key, "name": _KEY_NAMES[scope], "scope": scope} for scope, key in keys.items()
    }
    return app


def _create_token(call: ServiceCall) -> Document:
    """Give an auth token; without `force` the newest one that was not given a scope, where there is one."""
    return call.store.auth_tokens.issue(path_user(call), call.now, fresh=call.body.get("force", False))


def _change_permissions(call: ServiceCall) -> Document:
    """Set or unset permissions: an outcome of each that is set beside the values of all."""
    permissions = documents_of(call, call.endpoint.path.removesuffix("/{permission}"))
    values = call.body.get("permissions", {})
    for name, value in values.items():
        permissions[name] = {"id": name, "value": value, "updatedAt": call.now}
    permissions.pop(call.path.get("permission", ""), None)
    outcomes = act_on_each(values, lambda name: f"The permission {name} has been set.")
    return outcomes | {"permissions": {each["id"]: each["value"] for each in permissions.values()}}


def _flag_message(call: ServiceCall) -> None:
    """List a message as flagged; by whom and why is not kept."""
    flagged, number = call.store.documents.of("/moderation/flagged-messages"), call.path["id"]
    flagged[number] = parse_record(message_record(call, number))


def _set_default_provider(call: ServiceCall) -> None:
    providers = documents_of(call, call.endpoint.path.partition("/default/")[0])
    existing_document(providers, call.path["providerId"])
    for key, provider in providers.items():
        provider["isDefault"] = key == call.path["providerId"]


def _register_push_token(call: ServiceCall) -> None:
    """Store a device's token, which is its own key, under whichever name it arrives."""
    names = [name for name in ("fcmToken", "deviceToken", "voipToken") if name in call.body]
    if not names:
        raise bad_request({"fcmToken": ["One of the tokens is required."]})
    token = call.body[names[0]]
    documents_of(call, call.endpoint.path)[token] = {**call.body, "pushToken": token}


def _change_keyword_list(call: ServiceCall) -> Document:
    """Store a list of terms, which arrives as a file, as a comma list, or as a list."""
    terms = call.body.pop("file", call.body.get("searchTerms", ""))
    terms = (terms if isinstance(terms, str) else ",".join(terms)).replace("\n", ",").split(",")
    call.body["searchTerms"] = [term.strip() for term in terms if term.strip()]
    return dict(apply_operation(call))


def _show_preferences(call: ServiceCall) -> Document:
    """Show the preferences of a user by other names than those that are sent."""
    settings: Document = apply_operation(call)
    preferences = {
        name.removesuffix("Preferences"): each for name, each in settings.items() if name.endswith("s")
    }
    return {"preferences": preferences, "templates": selected(settings, ("usePrivacyTemplate",)), "sound": {}}


_EXCEPTIONS: Final[dict[str, Callable[[ServiceCall], Any]]] = {
    "apps.create": _create_app,
    "auth_tokens.create": _create_token,
    "moderation.flag_message": _flag_message,
    **{f"moderation.{verb}_keyword_list": _change_keyword_list for verb in ("create", "update")},
    **{f"notifications.{verb}_preferences": _show_preferences for verb in ("get", "update")},
    "notifications.register_push_token": _register_push_token,
    **{f"notifications.set_default_{kind}_provider": _set_default_provider for kind in ("apns", "fcm")},
    **{f"rbac.{verb}_{of}": _change_permissions for verb in ("set", "unset") for of in ("role", "scope")},
}
HANDLERS: Final[dict[str, Handler]] = {
    name: document_handler(endpoint, _EXCEPTIONS.get(name)) for name, endpoint in OPERATIONS.items()
}
