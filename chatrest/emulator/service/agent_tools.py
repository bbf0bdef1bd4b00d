"""The operations of API tools, frontend actions and MCP servers: documents of the app that agents are given.

A password is stored nowhere, as no reply shows it.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..store.documents import Document
from .agent_documents import API_TOOLS, MCP_SERVERS, PAGES, Check, add_names, existing, remove_names
from .context import Context, Handler
from .documents import DocumentCollection, in_milliseconds, serve
from .envelopes import root_acked, root_reply, succeeded

_PASSWORDS: Final = ("basicAuthUsername", "basicAuthPassword")


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters."""
    parameters = tool["parameters"]
    return {
        "type": "object",
        "properties": {
            each["key"]: {"type": each["type"], "description": each["description"]} for each in parameters
        },
        "required": [each["key"] for each in parameters if each.get("required")],
        "additionalProperties": tool.get("allowAdditionalProperties", False),
    }


def _defined(context: Context, tool: Document, name: str) -> Document:
    """Return a tool with its id in the database, and what a model is told of it."""
    app = context.app["id"]
    parameters = [{"required": False, **each} for each in tool.get("parameters", [])]
    tool = {"_id": f"{app}_{name}", "appId": app, **tool, "parameters": parameters}
    definition = {"name": name, "description": tool["description"], "parameters": _schema(tool)}
    return {**tool, "tool": definition}


def _api_tool(context: Context, tool: Document) -> Document:
    defaults = {"headers": None, "bodyTemplate": None, "allowAdditionalProperties": False}
    shown = {name: value for name, value in tool.items() if name not in _PASSWORDS}
    return _defined(context, defaults | shown, tool["slug"])


def _frontend_action(context: Context, action: Document) -> Document:
    return _defined(context, action, action["triggerFunction"])


def _mcp_server(context: Context, server: Document) -> Document:
    app = context.app["id"]
    return {"_id": f"{app}_{server['slug']}", "appId": app, **server}


def _action_id(context: Context, action: Document) -> str:
    return f"{context.app['id']}_{action['triggerFunction']}"


TOOLS: Final = DocumentCollection(
    kind=API_TOOLS, missing="ERR_TOOL_NOT_FOUND", parameter="slug", key="slug",
    stamp=in_milliseconds, written=_api_tool,
)  # fmt: skip
ACTIONS: Final = DocumentCollection(
    kind="agents.frontend_actions", missing="ERR_TOOL_NOT_FOUND",
    key="_id", new_key=_action_id, stamp=in_milliseconds, written=_frontend_action,
)  # fmt: skip
SERVERS: Final = DocumentCollection(
    kind=MCP_SERVERS, missing="ERR_TOOL_NOT_FOUND", parameter="slug",
    key="slug", stamp=in_milliseconds, written=_mcp_server,
)  # fmt: skip


def _existing_function(context: Context, agent: Document, name: str) -> None:
    """Refuse a function that no frontend action has."""
    existing(ACTIONS.kind)(context, agent, f"{context.app['id']}_{name}")


def _handlers(
    singular: str, tools: DocumentCollection, member: str, wire: str, check: Check
) -> dict[str, Handler]:
    """Return the handlers of one kind of tools; `member` is the list of an agent, `wire` that of a body."""
    return {
        f"agents.list_{singular}s": PAGES.serve(tools.list),
        f"agents.get_{singular}": serve(tools.get, root_reply),
        f"agents.create_{singular}": serve(tools.create, root_reply),
        f"agents.update_{singular}": serve(tools.update, root_reply),
        f"agents.delete_{singular}": serve(tools.delete, root_acked("It has been deleted.")),
        f"agents.add_{singular}s": serve(add_names(member, wire, check), succeeded()),
        f"agents.remove_{singular}s": serve(remove_names(member, wire), succeeded()),
    }


TOOL_HANDLERS: Final[dict[str, Handler]] = {
    **_handlers("api_tool", TOOLS, "apiTools", "apiTools", existing(API_TOOLS)),
    **_handlers(
        "frontend_action", ACTIONS, "frontendActions", "frontendActions",
        _existing_function,
    ),
    **_handlers("mcp_server", SERVERS, "mcpServers", "mcps", existing(MCP_SERVERS)),
}  # fmt: skip
