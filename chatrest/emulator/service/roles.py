"""The operations of roles, and of what they may do: permissions and restricted features.

The role `default` is there from the beginning, and stays. Any text is the id of a permission or the key of a
feature here, and a list shows those that are set.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..store import Store
from ..store.data import EPOCH
from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, with_quota
from .envelopes import ack_reply, data_reply, member_reply
from .groups import group_record
from .pages import serve_pages
from .refusals import Refusal, bad_request, item_acks

DEFAULT: Final = "default"
_MOST: Final = 25
"""Roles of an app."""


def _without_unset(context: Context, role: Document) -> Document:
    """Return a role without the members that its change takes away."""
    unset = role.pop("unset", ())
    return {name: value for name, value in role.items() if name not in unset}


ROLES: Final = DocumentCollection(
    kind="roles",
    missing="ERR_ROLE_NOT_FOUND",
    parameter="role",
    key="role",
    written=_without_unset,
)


def add_default_role(store: Store) -> None:
    roles = store.documents.of(ROLES.kind)
    if roles.get(DEFAULT) is None:
        role = {"role": DEFAULT, "name": "Default", "description": "The role of users without another."}
        roles.put(role | {"createdAt": EPOCH}, DEFAULT)


def role_of_path(context: Context, call: Call) -> str:
    return str(ROLES.get(context, call)["role"])


def delete_role(context: Context, call: Call) -> bytes:
    """Remove a role with its restrictions and permissions; users keep its name."""
    role = call.path["role"]
    if role == DEFAULT:
        raise Refusal(403, "ERR_ROLE_DELETE_DENIED", "The default role cannot be deleted.")
    ROLES.delete(context, call)
    for kind in ("restricted_features", "rbac.role"):
        context.store.documents.of(kind, role).clear()
    return ack_reply(f"The role {role} has been deleted.")


# ── permissions of roles and scopes ──


_SCOPES: Final = ("admin", "moderator", "participant")
_Permissions: TypeAlias = Callable[[Context, Call], DocumentSet]
_VALUE: Final = "value"
"""The member of a stored permission that no list shows."""


def _of_role(context: Context, call: Call) -> DocumentSet:
    return context.store.documents.of("rbac.role", role_of_path(context, call))


def _of_scope(context: Context, call: Call) -> DocumentSet:
    guid, scope = call.path["guid"], call.path["scope"]
    group_record(context, guid)
    if scope not in _SCOPES:
        raise bad_request({"scope": [f"The scope must be one of {', '.join(_SCOPES)}."]})
    return context.store.documents.of("rbac.scope", f"{guid}/{scope}")


def _permission(context: Context, kind: str, id: str, value: Any, old: Document | None) -> Document:
    """Return a permission with what the service knows of it; one that is set again keeps its time."""
    is_list = isinstance(value, list)
    return {
        "id": id,
        "type": kind,
        "title": id.rpartition(".")[2],
        "description": f"The permission {id}.",
        "dataType": "stringArray" if is_list else "string",
        "availableValues": value if is_list else ["allow", "deny"],
        "defaultValue": [] if is_list else "allow",
        "createdAt": context.now if old is None else old["createdAt"],
        "updatedAt": context.now,
        _VALUE: value,
    }


def _values(permissions: DocumentSet) -> Document:
    return {permission["id"]: permission[_VALUE] for permission in permissions.list()}


def _permission_handlers(kind: str, permissions_of: _Permissions) -> dict[str, Handler]:
    """Return the three operations of roles, or of scopes."""

    def list_permissions(context: Context, call: Call) -> list[Document]:
        permissions = permissions_of(context, call).list()
        return [{name: each[name] for name in each if name != _VALUE} for each in permissions]

    def set_permissions(context: Context, call: Call) -> Document:
        permissions, body = permissions_of(context, call), call.read()

        def set_one(id: str) -> str:
            value = body["permissions"][id]
            permissions.put(_permission(context, kind, id, value, permissions.get(id)), id)
            return f"The permission {id} has been set."

        acks = item_acks(body["permissions"], set_one)
        return {**acks, "permissions": _values(permissions)}

    def unset_permission(context: Context, call: Call) -> Document:
        permissions = permissions_of(context, call)
        permissions.delete(call.path["permission"])
        return _values(permissions)

    return {
        f"rbac.list_{kind}": serve_pages(list_permissions),
        f"rbac.set_{kind}": serve(set_permissions, data_reply),
        f"rbac.unset_{kind}": serve(unset_permission, member_reply("permissions")),
    }


# ── restricted features ──


def _features(context: Context, call: Call) -> DocumentSet:
    return context.store.documents.of("restricted_features", role_of_path(context, call))


def list_features(context: Context, call: Call) -> list[Document]:
    return _features(context, call).list()


def restrict_features(context: Context, call: Call) -> bytes:
    """Switch features off; a repeated restriction is no error."""
    features = _features(context, call)
    keys = call.read()["featuresToRestrict"]
    return data_reply(item_acks(keys, lambda key: _restrict(context, features, key)))


def _restrict(context: Context, features: DocumentSet, key: str) -> str:
    if features.get(key) is None:
        title = key.rpartition(".")[2]
        record = {"title": title, "description": f"Restricts {title}.", "key": key, "path": ""}
        features.put(record | {"createdAt": context.now}, key)
    return f"The feature {key} has been restricted."


def allow_features(context: Context, call: Call) -> bytes:
    """Switch features on again; one that was not off is no error."""
    features, body = _features(context, call), call.read()
    if body.get("allowAll"):
        features.clear()
    for key in body.get("featuresToAllow", ()):
        features.delete(key)
    return ack_reply("The features have been allowed.")


HANDLERS: Final[dict[str, Handler]] = {
    "roles.list": serve_pages(ROLES.list),
    "roles.get": serve(ROLES.get, data_reply),
    "roles.create": serve(with_quota(ROLES.create, ROLES, _MOST), data_reply),
    "roles.update": serve(ROLES.update, data_reply),
    "roles.delete": delete_role,
    **_permission_handlers("role", _of_role),
    **_permission_handlers("scope", _of_scope),
    "restricted_features.list": serve_pages(list_features),
    "restricted_features.restrict": restrict_features,
    "restricted_features.allow": allow_features,
}
