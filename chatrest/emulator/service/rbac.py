"""The operations of permissions: any text is the id of one here, and a list shows those that are set."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .documents import serve
from .envelopes import data_reply, member_reply
from .groups import group_record
from .item_acks import item_acks
from .numbered_pages import serve_pages
from .refusals import bad_request
from .roles import role_of_path

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


def _handlers(kind: str, permissions_of: _Permissions) -> dict[str, Handler]:
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


HANDLERS: Final[dict[str, Handler]] = _handlers("role", _of_role) | _handlers("scope", _of_scope)
