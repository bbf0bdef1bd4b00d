"""AI agents: those of the service's own builder, and those of other frameworks."""

from typing import final

from .agent_builder import AgentBuilder
from .agent_integrations import AgentIntegrations
from .agent_variables import AgentVariables
from .api_tools import ApiTools
from .external_agents import ExternalAgents
from .frontend_actions import FrontendActions
from .knowledge_sources import KnowledgeSources
from .knowledge_texts import KnowledgeTexts
from .knowledge_websites import KnowledgeWebsites
from .mcp_servers import McpServers


@final
class Agents(
    AgentBuilder,
    AgentIntegrations,
    ApiTools,
    FrontendActions,
    McpServers,
    KnowledgeSources,
    KnowledgeTexts,
    KnowledgeWebsites,
    AgentVariables,
    ExternalAgents,
):
    """Agents, their tools, knowledge and variables, and external agents: `session.agents`.

    Errors of these operations have a message and a status, and no code.
    """
