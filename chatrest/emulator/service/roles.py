"""The operations of roles, and of what they may do: permissions and restricted features.

The role `default` is there from the beginning, and stays. Any text is the id of a permission or the key of a
feature here, and a list shows those that are set.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ..store import Store
from ..store.data import EPOCH
from ..store.documents import Document, DocumentSet
from .context import Context, Handler, ServiceCall
from .documents import DocumentCollection, apply_changes
from .groups import path_group
from .refusals import bad_request, outcomes, refused
from .replies import ack, numbered

DEFAULT: Final = "default"
ROLES: Final = DocumentCollection(
    kind="roles",
    missing="ERR_ROLE_NOT_FOUND",
    key="role",
    most=25,
    completed=lambda _, role: apply_changes(role, {}),
)


def add_default_role(store: Store) -> None:
    roles = store.documents.of(ROLES.kind)
    if roles.get(DEFAULT) is None:
        role = {"role": DEFAULT, "name": "Default", "description": "The role of users without another."}
        roles.put(role | {"createdAt": EPOCH}, DEFAULT)


def delete_role(call: ServiceCall) -> Document:
    """Remove a role with its restrictions and permissions; users keep its name."""
    role = call.path["role"]
    if role == DEFAULT:
        raise refused("ERR_ROLE_DELETE_DENIED")
    ROLES.delete(call)
    for kind in (_FEATURES, "rbac.role"):
        call.store.documents.of(kind, role).clear()
    return ack(f"The role {role} has been deleted.")


# ── permissions of roles and scopes ──


_SCOPES: Final = ("admin", "moderator", "participant")
_VALUE: Final = "value"
"""The member of a stored permission that no list shows."""


def _of_role(call: ServiceCall, kind: str = "rbac.role") -> DocumentSet:
    return call.store.documents.of(kind, ROLES.get(call)["role"])


def _of_scope(call: ServiceCall) -> DocumentSet:
    guid, scope = path_group(call), call.path["scope"]
    if scope not in _SCOPES:
        raise bad_request({"scope": [f"The scope must be one of {', '.join(_SCOPES)}."]})
    return call.store.documents.of("rbac.scope", f"{guid}/{scope}")


def _permission(context: Context, kind: str, id: str, value: Any, old: Document | None) -> Document:
    is_list = isinstance(value, tuple)
    return {
        "id": id, "type": kind, "title": id.rpartition(".")[2], "description": f"The permission {id}.",
        "dataType": "stringArray" if is_list else "string",
        "availableValues": value if is_list else ["allow", "deny"],
        "defaultValue": [] if is_list else "allow",
        "createdAt": context.now if old is None else old["createdAt"], "updatedAt": context.now,
        _VALUE: value,
    }  # fmt: skip


def _values(permissions: DocumentSet) -> Document:
    return {"permissions": {each["id"]: each[_VALUE] for each in permissions.list()}}


def _permissions(kind: str, permissions_of: Callable[[ServiceCall], DocumentSet]) -> dict[str, Handler]:
    def show(call: ServiceCall) -> list[Document]:
        permissions = permissions_of(call).list()
        return [{name: each[name] for name in each if name != _VALUE} for each in permissions]

    def change(call: ServiceCall) -> Document:
        permissions, values = permissions_of(call), call.body["permissions"]

        def set_one(id: str) -> str:
            permissions.put(_permission(call, kind, id, values[id], permissions.get(id)), id)
            return f"The permission {id} has been set."

        return outcomes(values, set_one) | _values(permissions)

    def unset(call: ServiceCall) -> Document:
        permissions = permissions_of(call)
        permissions.delete(call.path["permission"])
        return _values(permissions)

    return {f"rbac.list_{kind}": numbered(show), f"rbac.set_{kind}": change, f"rbac.unset_{kind}": unset}


# ── restricted features ──


_FEATURES: Final = "restricted_features"


def list_features(call: ServiceCall) -> list[Document]:
    return _of_role(call, _FEATURES).list()


def restrict_features(call: ServiceCall) -> Document:
    """Switch features off; a repeated restriction is no error."""
    restrict = partial(_restrict, call, _of_role(call, _FEATURES))
    return outcomes(call.body["featuresToRestrict"], restrict)


def _restrict(context: Context, features: DocumentSet, key: str) -> str:
    if features.get(key) is None:
        title = key.rpartition(".")[2]
        record = {"title": title, "description": f"Restricts {title}.", "key": key, "path": ""}
        features.put(record | {"createdAt": context.now}, key)
    return f"The feature {key} has been restricted."


def allow_features(call: ServiceCall) -> Document:
    """Switch features on again; one that was not off is no error."""
    features = _of_role(call, _FEATURES)
    if call.body.get("allowAll"):
        features.clear()
    for key in call.body.get("featuresToAllow", ()):
        features.delete(key)
    return ack("The features have been allowed.")


HANDLERS: Final[dict[str, Handler]] = {
    **ROLES.handlers("roles"),
    "roles.list": numbered(ROLES.list),
    "roles.delete": delete_role,
    **_permissions("role", _of_role),
    **_permissions("scope", _of_scope),
    "restricted_features.list": numbered(list_features),
    "restricted_features.restrict": restrict_features,
    "restricted_features.allow": allow_features,
}
