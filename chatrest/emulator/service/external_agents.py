"""The operations of external agents and their tools: documents of the app, with times as ISO 8601 texts."""

from typing import Any, Final

from ..store.documents import Document
from .agent_documents import naming
from .context import Call, Context, Handler
from .documents import DocumentCollection, as_iso_text, serve
from .envelopes import root_acked, root_reply, root_success

_TOOLS: Final = "agents.external_tools"
_NAMED: Final = {"tools": _TOOLS, "actions": _TOOLS}


def _uuid(context: Context, agent: Document) -> str:
    """Return a UUID; it is made of a number, so that every run gives the same."""
    return f"00000000-0000-4000-8000-{context.store.documents.next_number():012x}"


def _completed_agent(context: Context, agent: Document) -> Document:
    """Return an agent with all its members."""
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


AGENTS: Final = DocumentCollection(
    kind="agents.external", missing="ERR_AGENT_NOT_FOUND",
    parameter="uid", key="uid", new_key=_uuid, stamp=as_iso_text, written=_completed_agent,
)  # fmt: skip
TOOLS: Final = DocumentCollection(
    kind=_TOOLS, missing="ERR_TOOL_NOT_FOUND", parameter="name",
    key="name", stamp=as_iso_text, written=_completed_tool,
)  # fmt: skip


def create_external(context: Context, call: Call) -> dict[str, Document]:
    """Add an external agent, and return it in a member of its own."""
    return {"agent": AGENTS.create(context, call)}


def list_tools(context: Context, call: Call) -> list[Document]:
    """Return the tools, or those of one type."""
    kind = call.query.choice("type", ("action", "tool"))
    call.query.check()
    return [each for each in TOOLS.list(context, call) if kind in (None, each["type"])]


def delete_tool(context: Context, call: Call) -> dict[str, bool]:
    """Remove a tool."""
    TOOLS.delete(context, call)
    return {"deleted": True}


EXTERNAL_HANDLERS: Final[dict[str, Handler]] = {
    "agents.list_external": serve(AGENTS.list, root_reply),
    "agents.create_external": serve(naming(create_external, _NAMED), root_reply),
    "agents.update_external": serve(naming(AGENTS.update, _NAMED), root_success),
    "agents.delete_external": serve(AGENTS.delete, root_acked("The agent has been deleted.")),
    "agents.list_external_tools": serve(list_tools, root_reply),
    "agents.get_external_tool": serve(TOOLS.get, root_reply),
    "agents.create_external_tool": serve(TOOLS.create, root_reply),
    "agents.update_external_tool": serve(TOOLS.update, root_reply),
    "agents.delete_external_tool": serve(delete_tool, root_reply),
}
