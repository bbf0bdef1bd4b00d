"""The operations of integrations: a small catalogue, what agents have of it, and what they may do with it.

What the documents leave open: an agent may be given any slug, also one that the catalogue has not, and any
action.
"""

from typing import Any, Final

from ..store.documents import Document
from .agent_documents import AGENTS, PAGES, TOOL_ACTIONS, add_names, matching, remove_names
from .context import Call, Context, Handler
from .documents import serve
from .envelopes import root_reply, root_success, succeeded
from .refusals import refused


def _integration(slug: str, number: int, *actions: str) -> dict[str, Any]:
    name = slug.capitalize()
    return {
        "slug": slug, "name": name, "description": f"{name} of the emulator", "icon": "", "createdAt": number,
        "actions": [_action(action) for action in actions],
    }  # fmt: skip


def _action(name: str) -> dict[str, str]:
    words = name.replace("_", " ").capitalize()
    return {"name": name, "displayName": words, "description": words}


CATALOGUE: Final = {
    "calendar": _integration("calendar", 1, "create_event", "list_events"),
    "mail": _integration("mail", 2, "send_mail", "search_mail"),
}


def integration(slug: str) -> dict[str, Any]:
    """Return the integration of this slug; one without actions where the catalogue has none."""
    return CATALOGUE.get(slug) or _integration(slug, 0)


def enabled_actions(context: Context, uid: str, slug: str) -> list[str]:
    """Return the names of the actions that an agent may take with an integration."""
    document = context.store.documents.of(TOOL_ACTIONS, uid).get(slug) or {"actions": []}
    names: list[str] = document["actions"]
    return names


def list_tool_integrations(context: Context, call: Call) -> list[Document]:
    """Return the catalogue; those that the agent has are authenticated."""
    agent = AGENTS.get(context, call)
    slug, text = call.query.text("slug"), call.query.text("search")
    integrations = [each for each in CATALOGUE.values() if slug in (None, each["slug"])]
    if text is not None:
        integrations = matching(integrations, text, "name", "description", "slug")
    return [each | {"isAuthenticated": each["slug"] in agent["tools"]} for each in integrations]


def _not_added(context: Context, agent: Document, slug: str) -> None:
    if slug in agent["tools"]:
        raise refused("ERR_TOOL_ALREADY_ADDED", slug)


def list_tool_actions(context: Context, call: Call) -> list[dict[str, str]]:
    """Return the actions of an integration in the catalogue, and those that the agent may take."""
    uid, slug = AGENTS.get(context, call)["uid"], call.path["slug"]
    actions: list[dict[str, str]] = integration(slug)["actions"]
    known = {action["name"] for action in actions}
    others = [name for name in enabled_actions(context, uid, slug) if name not in known]
    return [*actions, *map(_action, others)]


def enable_tool_actions(context: Context, call: Call) -> None:
    """Let an agent take actions."""
    uid, slug = AGENTS.get(context, call)["uid"], call.path["slug"]
    names = call.read()["actions"]
    actions = list(dict.fromkeys([*enabled_actions(context, uid, slug), *names]))
    context.store.documents.of(TOOL_ACTIONS, uid).put({"actions": actions}, slug)


def disable_tool_actions(context: Context, call: Call) -> None:
    """No longer let an agent take actions."""
    uid, slug = AGENTS.get(context, call)["uid"], call.path["slug"]
    names = call.read()["actions"]
    actions = [name for name in enabled_actions(context, uid, slug) if name not in names]
    context.store.documents.of(TOOL_ACTIONS, uid).put({"actions": actions}, slug)


INTEGRATION_HANDLERS: Final[dict[str, Handler]] = {
    "agents.list_tool_integrations": PAGES.serve(list_tool_integrations),
    "agents.add_tools": serve(add_names("tools", "tools", _not_added), succeeded()),
    "agents.remove_tools": serve(remove_names("tools", "tools"), succeeded()),
    "agents.list_tool_actions": serve(list_tool_actions, root_reply),
    "agents.enable_tool_actions": serve(enable_tool_actions, root_success),
    "agents.disable_tool_actions": serve(disable_tool_actions, root_success),
}
