"""The operations of agents, and what all agent operations have in common: the form of their errors.

Tools, knowledge, variables and external agents have files of their own, and are gathered here. The emulator
runs no agent.
"""

from typing import Any, Final

from .agent_documents import AGENTS, MODEL, NAMED, PAGES, delete_agent, naming, search_agents
from .agent_integrations import INTEGRATION_HANDLERS
from .agent_items import ITEM_HANDLERS
from .agent_knowledge import KNOWLEDGE_HANDLERS
from .agent_tools import TOOL_HANDLERS
from .agent_variables import VARIABLE_HANDLERS
from .agent_websites import WEBSITE_HANDLERS
from .context import Call, Context, Handler
from .documents import serve
from .envelopes import root_acked, root_reply, root_success
from .external_agents import EXTERNAL_HANDLERS
from .refusals import Refusal

_MODELS: Final[list[dict[str, Any]]] = [
    {"model": MODEL, "provider": "emulated", "settings": {"temperature": 1}, "default": True},
    {"model": "emulated-large", "provider": "emulated", "settings": {"temperature": 1}, "default": False},
]


def list_models(context: Context, call: Call) -> list[dict[str, Any]]:
    """Return the models; the first one is the documents' default."""
    return _MODELS


def create_agent(context: Context, call: Call) -> dict[str, Any]:
    """Make an agent, and return it in a member of its own."""
    return {"agent": AGENTS.create(context, call)}


def with_agent_errors(handler: Handler) -> Handler:
    """Return a handler whose refusals have the form of the agent operations."""

    def handle(context: Context, call: Call) -> bytes:
        try:
            return handler(context, call)
        except Refusal as refusal:
            refusal.is_at_root = True
            raise

    return handle


HANDLERS: Final[dict[str, Handler]] = {
    name: with_agent_errors(handler)
    for name, handler in {
        "agents.list": PAGES.serve(search_agents),
        "agents.get": serve(AGENTS.get, root_reply),
        "agents.create": serve(naming(create_agent, NAMED), root_reply),
        "agents.update": serve(naming(AGENTS.update, NAMED), root_success),
        "agents.delete": serve(delete_agent, root_acked("The agent has been deleted.")),
        "agents.list_models": serve(list_models, root_reply),
        **ITEM_HANDLERS,
        **INTEGRATION_HANDLERS,
        **TOOL_HANDLERS,
        **KNOWLEDGE_HANDLERS,
        **WEBSITE_HANDLERS,
        **VARIABLE_HANDLERS,
        **EXTERNAL_HANDLERS,
    }.items()
}
