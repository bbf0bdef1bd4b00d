"""All that an agent may use, by kind, and the search over tools of every kind."""

from collections.abc import Iterable
from typing import Any, Final

from ..store.documents import Document
from .agent_documents import AGENTS, matching
from .agent_integrations import CATALOGUE, enabled_actions, integration
from .agent_tools import ACTIONS, SERVERS, TOOLS
from .context import Call, Context, Handler
from .documents import serve
from .envelopes import data_reply, root_reply

_TOOL: Final = ("slug", "name", "description", "icon")
_API_TOOL: Final = (*_TOOL, "endpoint", "method", "parameters")
_SERVER: Final = (*_TOOL, "url")
_ACTION: Final = ("_id", "name", "description", "triggerFunction", "parameters")


def _shown(documents: Iterable[Document], members: tuple[str, ...]) -> list[Document]:
    """Return documents with `members` alone; the id of the database is `id` here."""
    return [{name.removeprefix("_"): document.get(name, "") for name in members} for document in documents]


def _tool(context: Context, uid: str, slug: str) -> Document:
    actions = [
        {"slug": name, "name": name, "description": name} for name in enabled_actions(context, uid, slug)
    ]
    return {name: integration(slug)[name] for name in _TOOL} | {"actions": actions}


def list_enabled_items(context: Context, call: Call) -> dict[str, list[Document]]:
    """Return what an agent has, of the kinds that were asked for."""
    agent = AGENTS.get(context, call)
    functions = {each["triggerFunction"]: each for each in ACTIONS.list(context, call)}
    tools = {each["slug"]: each for each in TOOLS.list(context, call)}
    servers = {each["slug"]: each for each in SERVERS.list(context, call)}
    items: dict[str, list[Document]] = {
        "tools": [_tool(context, agent["uid"], slug) for slug in agent["tools"]],
        "frontendActions": _shown(_having(functions, agent["frontendActions"]), _ACTION),
        "apiTools": _shown(_having(tools, agent["apiTools"]), _API_TOOL),
        "mcpServers": _shown(_having(servers, agent["mcpServers"]), _SERVER),
    }
    text, wanted = call.query.text("key") or "", [name for name in items if _is_wanted(call, name)]
    call.query.check()
    return {
        name: matching(each, text, "name", "description") if name in wanted else []
        for name, each in items.items()
    }


def _having(documents: dict[str, Document], names: Iterable[str]) -> list[Document]:
    """Return the documents of these names, without those that were deleted."""
    return [documents[name] for name in names if name in documents]


def _is_wanted(call: Call, name: str) -> bool:
    return call.query.text(name) is None or call.query.flag(name)


def search_tools(context: Context, call: Call) -> dict[str, Any]:
    """Return the tools of every kind that have the text of `key`, or the integration of `slug`."""
    AGENTS.get(context, call)
    slug, text = call.query.text("slug"), call.query.text("key") or ""
    kinds: dict[str, list[Document]] = {
        "tool": [each for each in CATALOGUE.values() if slug in (None, each["slug"])],
    }
    if slug is None:
        kinds |= {
            "apiTool": TOOLS.list(context, call),
            "frontendAction": [
                each | {"slug": each["triggerFunction"]} for each in ACTIONS.list(context, call)
            ],
            "mcpServer": SERVERS.list(context, call),
        }
    results = [
        {"type": kind, **row}
        for kind, documents in kinds.items()
        for row in _shown(matching(documents, text, "name", "description", "slug"), _TOOL)
    ]
    return {"success": True, "results": results}


ITEM_HANDLERS: Final[dict[str, Handler]] = {
    "agents.search_tools": serve(search_tools, root_reply),
    "agents.list_enabled_items": serve(list_enabled_items, data_reply),
}
