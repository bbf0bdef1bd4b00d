"""The operations of agents, the app's own and external ones: documents, and lists of names that they have.

The emulator runs no agent. What the documents leave open: API tools and MCP servers that an agent names must
exist; taking away what an agent has not changes nothing. External agents and their tools have times as ISO
8601 texts.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from ..store.documents import Document
from .context import Call, Context, Handler
from .documents import DocumentCollection, Operation, as_iso_text, in_milliseconds, serve
from .envelopes import root_acked, root_reply, root_success
from .pages import PositionedPages
from .refusals import refused

API_TOOLS: Final = "agents.api_tools"
MCP_SERVERS: Final = "agents.mcp_servers"
TOOL_ACTIONS: Final = "agents.tool_actions"
"""The actions that agents may take: a parent an agent, a key a tool."""
MODEL: Final = "gpt-4o-mini"
"""The model of an agent that names none."""
PAGES: Final = PositionedPages(member="createdAt", parameter="createdAt", largest=1000)
"""The paging of agents and their tools."""

Check: TypeAlias = Callable[[Context, Document, str], None]
"""Refuses a name that an agent cannot be given."""

_LISTS: Final = (
    "tools", "apiTools", "mcpServers", "frontendActions", "files", "websites", "otherKbIntegrations"
)  # fmt: skip
NAMED: Final = {"apiTools": API_TOOLS, "mcpServers": MCP_SERVERS}
"""The lists of an agent whose names are keys of documents."""


def _completed(context: Context, agent: Document) -> Document:
    defaults: dict[str, Any] = {
        "appId": context.app["id"], "icon": "", "description": "", **{name: [] for name in _LISTS},
        "ragVersion": "v2", "lastMessageAt": None, "instruction": "", "metaData": {}, "model": MODEL,
        "modelMetaData": {},
    }  # fmt: skip
    agent = defaults | agent
    return agent | {"formattedInstruction": agent["instruction"]}


AGENTS: Final = DocumentCollection(
    kind="agents", missing="ERR_AGENT_NOT_FOUND", parameter="uid", key="uid",
    new_key="agent-{number}", stamp=in_milliseconds, written=_completed,
)  # fmt: skip


def search_agents(context: Context, call: Call) -> list[Document]:
    """Return the agents, or those with the text of `search` in their name, description or uid."""
    text = call.query.text("search")
    agents = AGENTS.list(context, call)
    return agents if text is None else matching(agents, text, "name", "description", "uid")


def delete_agent(context: Context, call: Call) -> Document:
    """Remove an agent, and which actions it may take."""
    agent = AGENTS.delete(context, call)
    context.store.documents.of(TOOL_ACTIONS, agent["uid"]).clear()
    return agent


def matching(documents: Iterable[Document], text: str, *members: str) -> list[Document]:
    """Return the documents that have `text` in one of `members`, without regard to case."""
    folded = text.casefold()
    return [
        document
        for document in documents
        if any(folded in str(document.get(member, "")).casefold() for member in members)
    ]


def existing(kind: str) -> Check:
    """Return the check that a document of this kind exists under a name; else 404."""

    def check(context: Context, agent: Document, name: str) -> None:
        if context.store.documents.of(kind).get(name) is None:
            raise refused("ERR_TOOL_NOT_FOUND", name)

    return check


def naming(operation: Operation, kinds: Mapping[str, str]) -> Operation:
    """Return the operation that does the same, where all names in a body exist; else 404.

    `kinds` says for a list of the body which documents its names are keys of.
    """

    def checked(context: Context, call: Call) -> Any:
        document = call.read()
        for member, kind in kinds.items():
            for name in document.get(member, ()):
                existing(kind)(context, document, name)
        return operation(context, call)

    return checked


def add_names(member: str, wire: str, check: Check | None = None) -> Operation:
    """Return the operation that adds the names in a body's member `wire` to a list of an agent."""

    def add(context: Context, call: Call) -> Document:
        agent, names = AGENTS.get(context, call), call.read()[wire]
        if check is not None:
            for name in names:
                check(context, agent, name)
        return _put(context, call, agent, member, list(dict.fromkeys([*agent[member], *names])))

    return add


def remove_names(member: str, wire: str) -> Operation:
    """Return the operation that takes the names in a body's member `wire` from a list of an agent."""

    def remove(context: Context, call: Call) -> Document:
        agent, names = AGENTS.get(context, call), call.read()[wire]
        return _put(context, call, agent, member, [name for name in agent[member] if name not in names])

    return remove


def _put(context: Context, call: Call, agent: Document, member: str, names: list[str]) -> Document:
    agent = {**agent, member: names, "updatedAt": in_milliseconds(context)}
    AGENTS.documents(context, call).put(agent, agent["uid"])
    return agent


_MODELS: Final[list[dict[str, Any]]] = [
    {"model": MODEL, "provider": "emulated", "settings": {"temperature": 1}, "default": True},
    {"model": "emulated-large", "provider": "emulated", "settings": {"temperature": 1}, "default": False},
]


def list_models(context: Context, call: Call) -> list[dict[str, Any]]:
    """Return the models; the first one is the documents' default."""
    return _MODELS


def create_agent(context: Context, call: Call) -> dict[str, Any]:
    return {"agent": AGENTS.create(context, call)}


# ── external agents ──


_TOOL_KIND: Final = "agents.external_tools"
_TOOL_LISTS: Final = {"tools": _TOOL_KIND, "actions": _TOOL_KIND}


def _completed_agent(context: Context, agent: Document) -> Document:
    defaults: dict[str, Any] = {"tools": [], "actions": [], "metaData": {}, "deletedAt": None}
    return {"_id": agent["uid"], "appId": context.app["id"], **defaults, **agent}


def _completed_tool(context: Context, tool: Document) -> Document:
    """Return a tool as a record has it: its description and its parameters stand in `tool`."""
    app, is_passive = context.app["id"], tool.get("doNotExecute", False)
    definition = {"description": "", "parameters": {}, **tool.get("tool", {}), "name": tool["name"]}
    definition |= {name: tool[name] for name in ("description", "parameters") if name in tool}
    members = {name: value for name, value in tool.items() if name not in ("description", "parameters")}
    return {
        "_id": f"{app}_{tool['name']}", "appId": app, **members, "doNotExecute": is_passive,
        "type": "tool" if is_passive else "action", "tool": definition,
    }  # fmt: skip


# An external agent's UUID is made of a number, so that every run gives the same.
EXTERNAL: Final = DocumentCollection(
    kind="agents.external", missing="ERR_AGENT_NOT_FOUND",
    parameter="uid", key="uid", new_key="00000000-0000-4000-8000-{number:012x}",
    stamp=as_iso_text, written=_completed_agent,
)  # fmt: skip
EXTERNAL_TOOLS: Final = DocumentCollection(
    kind=_TOOL_KIND, missing="ERR_TOOL_NOT_FOUND", parameter="name",
    key="name", stamp=as_iso_text, written=_completed_tool,
)  # fmt: skip


def create_external(context: Context, call: Call) -> dict[str, Document]:
    return {"agent": EXTERNAL.create(context, call)}


def list_tools(context: Context, call: Call) -> list[Document]:
    """Return the tools, or those of one type."""
    kind = call.query.choice("type", ("action", "tool"))
    call.query.check()
    return [each for each in EXTERNAL_TOOLS.list(context, call) if kind in (None, each["type"])]


def delete_tool(context: Context, call: Call) -> dict[str, bool]:
    EXTERNAL_TOOLS.delete(context, call)
    return {"deleted": True}


HANDLERS: Final[dict[str, Handler]] = {
    "agents.list": PAGES.serve(search_agents),
    "agents.get": serve(AGENTS.get, root_reply),
    "agents.create": serve(naming(create_agent, NAMED), root_reply),
    "agents.update": serve(naming(AGENTS.update, NAMED), root_success),
    "agents.delete": serve(delete_agent, root_acked("The agent has been deleted.")),
    "agents.list_models": serve(list_models, root_reply),
    "agents.list_external": serve(EXTERNAL.list, root_reply),
    "agents.create_external": serve(naming(create_external, _TOOL_LISTS), root_reply),
    "agents.update_external": serve(naming(EXTERNAL.update, _TOOL_LISTS), root_success),
    "agents.delete_external": serve(EXTERNAL.delete, root_acked("The agent has been deleted.")),
    "agents.list_external_tools": serve(list_tools, root_reply),
    "agents.get_external_tool": serve(EXTERNAL_TOOLS.get, root_reply),
    "agents.create_external_tool": serve(EXTERNAL_TOOLS.create, root_reply),
    "agents.update_external_tool": serve(EXTERNAL_TOOLS.update, root_reply),
    "agents.delete_external_tool": serve(delete_tool, root_reply),
}
