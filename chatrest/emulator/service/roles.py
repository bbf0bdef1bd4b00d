"""The operations of roles. The role `default` is there from the beginning, and stays."""

from typing import Final

from ..store.data import EPOCH
from ..store.documents import Document
from ..store.store import Store
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, with_quota
from .envelopes import ack_reply, data_reply
from .numbered_pages import serve_pages
from .refusals import Refusal

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
    """Add the default role where it is missing."""
    roles = store.documents.of(ROLES.kind)
    if roles.get(DEFAULT) is None:
        role = {"role": DEFAULT, "name": "Default", "description": "The role of users without another."}
        roles.put(role | {"createdAt": EPOCH}, DEFAULT)


def role_of_path(context: Context, call: Call) -> str:
    """Return the role of the path; 404 for no such role."""
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


HANDLERS: Final[dict[str, Handler]] = {
    "roles.list": serve_pages(ROLES.list),
    "roles.get": serve(ROLES.get, data_reply),
    "roles.create": serve(with_quota(ROLES.create, ROLES, _MOST), data_reply),
    "roles.update": serve(ROLES.update, data_reply),
    "roles.delete": delete_role,
}
