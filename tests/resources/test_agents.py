"""`session.agents`, through a double of the session: what each operation sends."""

from typing import Any

import pytest

from chatrest.core.encode import query_pairs
from chatrest.core.wire import json_body
from chatrest.errors import RequestInvalidError
from chatrest.models.outcomes import Ack
from chatrest.parameters.agent_knowledge import (
    DiscoveredUrlQuery,
    KnowledgeQuery,
    KnowledgeTextChanges,
    NewKnowledgeText,
    NewUpload,
    PageToScrape,
    SourcePageQuery,
    WebsiteToScrape,
)
from chatrest.parameters.agent_tools import (
    ApiToolChanges,
    FrontendActionChanges,
    McpServerChanges,
    NewApiTool,
    NewFrontendAction,
    NewMcpServer,
    NewToolParameter,
    NewVariable,
    VariableChanges,
    VariableQuery,
)
from chatrest.parameters.agents import (
    AgentChanges,
    AgentHeaders,
    AgentQuery,
    EnabledActions,
    EnabledItemsQuery,
    ExternalAgentChanges,
    ExternalToolChanges,
    IntegrationQuery,
    NewAgent,
    NewExternalAgent,
    NewExternalTool,
    ToolQuery,
    ToolSearchQuery,
)
from chatrest.resources import OPERATIONS
from chatrest.resources.agents import Agents
from chatrest.walk import Walk
from tests.cases import loop_over
from tests.sending import Sender

DONE = b'{"success":true}'
AGENT = b'{"uid":"a"}'
OF_AGENT = b'{"success":true,"data":{"uid":"a"}}'
NAMED = b'{"_id":"x","slug":"s","name":"n","triggerFunction":"f"}'
EMPTY, NONE = b'{"data":[],"meta":{"current":{}}}', b"[]"
SOURCE = b'{"success":true,"message":"m","data":{"uniqueId":"k"}}'
STATUSES = b'{"success":true,"data":{"k":"indexed"}}'
ONE = "/ai-agents/agent-builder"
BASE = f"{ONE}/knowledge-base"
PARAMETER = NewToolParameter(key="k", type="string", description="d", required=True)
SENT_PARAMETER = '"parameters":[{"key":"k","type":"string","description":"d","required":true}]'
TOOL: dict[str, Any] = {
    "description": "d", "endpoint": "https://h/{{x}}", "method": "PUT", "enable_basic_auth": True,
    "basic_auth_username": "u", "basic_auth_password": "p", "headers": "{}", "body_template": '{"a":1}',
    "allow_additional_properties": True, "parameters": [PARAMETER], "icon": "i",
}  # fmt: skip
SENT_TOOL = (
    '"description":"d","endpoint":"https://h/{{x}}","method":"PUT","enableBasicAuth":true,'
    '"basicAuthUsername":"u","basicAuthPassword":"p","headers":"{}","bodyTemplate":"{\\"a\\":1}",'
    f'"allowAdditionalProperties":true,{SENT_PARAMETER},"icon":"i"'
)
ALL: dict[str, Any] = {
    "name": "n", "icon": "https://i", "description": "d", "tools": ["t"], "api_tools": ["a"],
    "mcp_servers": [], "instruction": "do", "meta_data": {"a": 1}, "model": "m",
    "model_meta_data": {"temperature": 0.5},
}  # fmt: skip
SENT_ALL = (
    '"icon":"https://i","description":"d","tools":["t"],"apiTools":["a"],"mcpServers":[],'
    '"instruction":"do","metaData":{"a":1},"model":"m","modelMetaData":{"temperature":0.5}'
)
EXTERNAL: dict[str, Any] = {
    "integrate_with": "ag2", "name": "n", "icon": "https://i", "is_active": False,
    "integration_type": "agent",
    "integration_meta": {"base_url": "h", "agent_id": "i", "headers": "{}", "default_user_id": "u"},
    "tools": ["t"], "actions": ["a"], "meta_data": {"greetingMessage": "hi"},
}  # fmt: skip
SENT_META = '"integrationMeta":{"baseUrl":"h","agentId":"i","headers":"{}","defaultUserId":"u"}'
SENT_NAMES = '"tools":["t"],"actions":["a"],"metaData":{"greetingMessage":"hi"}'
PASSIVE: dict[str, Any] = {
    "name": "t", "display_name": "T", "execution_text": "e", "description": "d",
    "parameters": {"type": "object"}, "do_not_execute": False,
}  # fmt: skip
SENT_PASSIVE = (
    '{"name":"t","displayName":"T","executionText":"e","description":"d","parameters":{"type":"object"},'
    '"doNotExecute":false}'
)
PAGE = ToolQuery(limit=5, affix="prepend", created_at=7)
SENT_PAGE = "limit=5&affix=prepend&createdAt=7"

CALLS: dict[str, tuple[Any, bytes, str]] = {
    "list": (
        lambda each: each.list(AgentQuery(limit=5, affix="append", created_at=7, search="s")), EMPTY,
        f"GET {ONE}/agents?limit=5&affix=append&createdAt=7&search=s",
    ),
    "get": (lambda each: each.get("a/b"), AGENT, f"GET {ONE}/agents/a%2Fb"),
    "create": (
        lambda each: each.create(NewAgent(**ALL), chat_api_version="v3.1"), b'{"agent":{"uid":"a"}}',
        f'POST {ONE}/agents {{"name":"n","isActive":true,{SENT_ALL}}}',
    ),
    "update": (
        lambda each: each.update("a", AgentChanges(**ALL, is_active=False)), DONE,
        f'PATCH {ONE}/agents/a {{"name":"n",{SENT_ALL},"isActive":false}}',
    ),
    "delete": (lambda each: each.delete("a"), DONE, f"DELETE {ONE}/agents/a"),
    "list_models": (lambda each: each.list_models(), NONE, f"GET {ONE}/agents/available-models"),
    "search_tools": (
        lambda each: each.search_tools("a", ToolSearchQuery(key="k", slug="s")),
        b'{"success":true,"results":[{"a":1}]}', f"GET {ONE}/agents/a/tools/search?key=k&slug=s",
    ),
    "list_enabled_items": (
        lambda each: each.list_enabled_items(
            "a",
            EnabledItemsQuery(
                tools=True, frontend_actions=False, api_tools=True, mcp_servers=True, key="k"
            ),
        ),
        b'{"data":{}}',
        (
            f"GET {ONE}/agents/a/enabled-items?tools=true&frontendActions=false&apiTools=true"
            "&mcpServers=true&key=k"
        ),
    ),
    "list_tool_integrations": (
        lambda each: each.list_tool_integrations("a", IntegrationQuery(slug="s", limit=5, search="t")), EMPTY,
        f"GET {ONE}/tools/agent/a?slug=s&limit=5&search=t",
    ),
    "add_tools": (
        lambda each: each.add_tools("a", ["t"]), OF_AGENT, f'PATCH {ONE}/agents/a/tools/add {{"tools":["t"]}}'
    ),
    "remove_tools": (
        lambda each: each.remove_tools("a", ("t",)), OF_AGENT,
        f'PATCH {ONE}/agents/a/tools/remove {{"tools":["t"]}}',
    ),
    "list_tool_actions": (
        lambda each: each.list_tool_actions("a", "s"), NONE, f"GET {ONE}/agents/a/tools/s/actions"
    ),
    "enable_tool_actions": (
        lambda each: each.enable_tool_actions("a", "s", EnabledActions(actions=["x"], auth_meta=["m"])), DONE,
        f'PATCH {ONE}/agents/a/tools/s/actions/add {{"actions":["x"],"authMeta":["m"]}}',
    ),
    "disable_tool_actions": (
        lambda each: each.disable_tool_actions("a", "s", ["x"]), DONE,
        f'PATCH {ONE}/agents/a/tools/s/actions/remove {{"actions":["x"]}}',
    ),
    "list_api_tools": (lambda each: each.list_api_tools(PAGE), EMPTY, f"GET {ONE}/api-tools?{SENT_PAGE}"),
    "get_api_tool": (lambda each: each.get_api_tool("s"), NAMED, f"GET {ONE}/api-tools/s"),
    "create_api_tool": (
        lambda each: each.create_api_tool(NewApiTool(slug="s", name="n", **TOOL)), NAMED,
        f'POST {ONE}/api-tools {{"slug":"s","name":"n",{SENT_TOOL}}}',
    ),
    "update_api_tool": (
        lambda each: each.update_api_tool("s", ApiToolChanges(slug="s", **TOOL)), NAMED,
        f'PATCH {ONE}/api-tools/s {{"slug":"s",{SENT_TOOL}}}',
    ),
    "delete_api_tool": (lambda each: each.delete_api_tool("s"), DONE, f"DELETE {ONE}/api-tools/s"),
    "add_api_tools": (
        lambda each: each.add_api_tools("a", ["s"]), OF_AGENT,
        f'PATCH {ONE}/agents/a/api-tools/add {{"apiTools":["s"]}}',
    ),
    "remove_api_tools": (
        lambda each: each.remove_api_tools("a", ["s"]), OF_AGENT,
        f'PATCH {ONE}/agents/a/api-tools/remove {{"apiTools":["s"]}}',
    ),
    "list_frontend_actions": (
        lambda each: each.list_frontend_actions(PAGE), EMPTY, f"GET {ONE}/frontend-actions?{SENT_PAGE}"
    ),
    "get_frontend_action": (
        lambda each: each.get_frontend_action("x"), NAMED, f"GET {ONE}/frontend-actions/x"
    ),
    "create_frontend_action": (
        lambda each: each.create_frontend_action(
            NewFrontendAction(
                name="n", description="d", trigger_function="f", parameters=[PARAMETER], icon="i"
            )
        ),
        NAMED,
        (
            f'POST {ONE}/frontend-actions {{"name":"n","description":"d","triggerFunction":"f",'
            f'{SENT_PARAMETER},"icon":"i"}}'
        ),
    ),
    "update_frontend_action": (
        lambda each: each.update_frontend_action(
            "x", FrontendActionChanges(name="n", description="d", parameters=[], icon="i")
        ),
        NAMED, f'PATCH {ONE}/frontend-actions/x {{"name":"n","description":"d","parameters":[],"icon":"i"}}',
    ),
    "delete_frontend_action": (
        lambda each: each.delete_frontend_action("x"), DONE, f"DELETE {ONE}/frontend-actions/x"
    ),
    "add_frontend_actions": (
        lambda each: each.add_frontend_actions("a", ["f"]), OF_AGENT,
        f'PATCH {ONE}/agents/a/frontend-actions/add {{"frontendActions":["f"]}}',
    ),
    "remove_frontend_actions": (
        lambda each: each.remove_frontend_actions("a", ["f"]), OF_AGENT,
        f'PATCH {ONE}/agents/a/frontend-actions/remove {{"frontendActions":["f"]}}',
    ),
    "list_mcp_servers": (
        lambda each: each.list_mcp_servers(PAGE), EMPTY, f"GET {ONE}/mcp-servers?{SENT_PAGE}"
    ),
    "get_mcp_server": (lambda each: each.get_mcp_server("s"), NAMED, f"GET {ONE}/mcp-servers/s"),
    "create_mcp_server": (
        lambda each: each.create_mcp_server(
            NewMcpServer(name="n", slug="s", url="https://h", description="d", icon="i")
        ),
        NAMED,
        f'POST {ONE}/mcp-servers {{"name":"n","slug":"s","url":"https://h","description":"d","icon":"i"}}',
    ),
    "update_mcp_server": (
        lambda each: each.update_mcp_server(
            "s", McpServerChanges(name="n", url="https://h", description="d", icon="i")
        ),
        NAMED, f'PATCH {ONE}/mcp-servers/s {{"name":"n","url":"https://h","description":"d","icon":"i"}}',
    ),
    "delete_mcp_server": (lambda each: each.delete_mcp_server("s"), DONE, f"DELETE {ONE}/mcp-servers/s"),
    "add_mcp_servers": (
        lambda each: each.add_mcp_servers("a", ["s"]), OF_AGENT,
        f'PATCH {ONE}/agents/a/mcp/add {{"mcps":["s"]}}',
    ),
    "remove_mcp_servers": (
        lambda each: each.remove_mcp_servers("a", ["s"]), OF_AGENT,
        f'PATCH {ONE}/agents/a/mcp/remove {{"mcps":["s"]}}',
    ),
    "list_knowledge": (
        lambda each: each.list_knowledge(
            KnowledgeQuery(cursor="c", limit=5, affix="append", start=0, end=9, start_time=1, end_time=2)
        ),
        EMPTY, f"GET {BASE}?startTime=1&endTime=2&cursor=c&limit=5&affix=append&start=0&end=9",
    ),
    "list_source_pages": (
        lambda each: each.list_source_pages("text", "k", SourcePageQuery(limit=5, page=2, affix="append")),
        EMPTY, f"GET {BASE}/text/k/pages?limit=5&page=2&affix=append",
    ),
    "initiate_uploads": (
        lambda each: each.initiate_uploads([NewUpload(file_name="f", mime_type="text/plain", file_size=5)]),
        b'{"uploads":[]}',
        f'POST {BASE}/uploads/initiate {{"files":[{{"fileName":"f","mimeType":"text/plain","fileSize":5}}]}}',
    ),
    "delete_upload": (lambda each: each.delete_upload("k"), SOURCE, f"DELETE {BASE}/uploads/k"),
    "list_texts": (lambda each: each.list_texts(), EMPTY, f"GET {BASE}/text"),
    "get_text": (lambda each: each.get_text("k"), SOURCE, f"GET {BASE}/text/k"),
    "create_text": (
        lambda each: each.create_text(NewKnowledgeText(title="t", text="x")), SOURCE,
        f'POST {BASE}/text {{"title":"t","text":"x"}}',
    ),
    "update_text": (
        lambda each: each.update_text("k", KnowledgeTextChanges(title="t", text="x")), SOURCE,
        f'PATCH {BASE}/text/k {{"title":"t","text":"x"}}',
    ),
    "delete_text": (lambda each: each.delete_text("k"), SOURCE, f"DELETE {BASE}/text/k"),
    "poll_knowledge_status": (
        lambda each: each.poll_knowledge_status(["k", "l"]), STATUSES,
        f'POST {BASE}/status/poll {{"uniqueId":["k","l"]}}',
    ),
    "sync_knowledge": (
        lambda each: each.sync_knowledge("website", "k"), DONE, f"PATCH {BASE}/website/k/sync"
    ),
    "add_knowledge": (
        lambda each: each.add_knowledge("a", "uploads", ["k"]), DONE,
        f'PATCH {ONE}/agents/a/knowledge-base/uploads/add {{"uniqueIds":["k"]}}',
    ),
    "remove_knowledge": (
        lambda each: each.remove_knowledge("a", "text", ["k"]), DONE,
        f'PATCH {ONE}/agents/a/knowledge-base/text/remove {{"uniqueIds":["k"]}}',
    ),
    "scrape_website": (
        lambda each: each.scrape_website(
            WebsiteToScrape(
                url="https://h", max_depth=1, max_pages=2, include=["a"], exclude=[], fetch_sitemap=True
            )
        ),
        b'{"success":true,"data":{"crawlId":"c"}}',
        (
            f'POST {BASE}/website/scrape {{"url":"https://h","maxDepth":1,"maxPages":2,"include":["a"],'
            '"exclude":[],"fetchSitemap":true}'
        ),
    ),
    "scrape_page": (
        lambda each: each.scrape_page(PageToScrape(url="https://h", timeout=5000, format="html")),
        b'{"success":true,"data":{"url":"u"}}',
        f'POST {BASE}/website/individual-page {{"url":"https://h","timeout":5000,"format":"html"}}',
    ),
    "delete_website": (lambda each: each.delete_website("k"), SOURCE, f"DELETE {BASE}/website/k"),
    "list_discovered_urls": (
        lambda each: each.list_discovered_urls(
            "k", DiscoveredUrlQuery(limit=5, status="failed", start_time=1, end_time=2)
        ),
        EMPTY, f"GET {BASE}/website/k/discovered-urls?startTime=1&endTime=2&limit=5&status=failed",
    ),
    "process_discovered_urls": (
        lambda each: each.process_discovered_urls("k"), b'{"success":true,"data":{"batchId":"b"}}',
        f'POST {BASE}/website/k/discovered-urls/process {{"exclude":[]}}',
    ),
    "poll_discovered_urls": (
        lambda each: each.poll_discovered_urls("k", ["u"]), STATUSES,
        f'POST {BASE}/website/k/discovered-urls/status/poll {{"uniqueId":["u"]}}',
    ),
    "retry_discovered_urls": (
        lambda each: each.retry_discovered_urls("k", ["u"]), SOURCE,
        f'PATCH {BASE}/website/k/discovered-urls/sync {{"uniqueIds":["u"]}}',
    ),
    "list_all_variables": (
        lambda each: each.list_all_variables(VariableQuery(group_by_category=True)), b"{}",
        f"GET {ONE}/agents/variables/all?groupByCategory=true",
    ),
    "list_custom_variables": (
        lambda each: each.list_custom_variables(), NONE, f"GET {ONE}/agents/variables/custom"
    ),
    "create_variable": (
        lambda each: each.create_variable(
            NewVariable(
                name="v", source_type="constant", constant_value="c", description="d", source_path="p",
                default_value="e",
            )
        ),
        NAMED,
        (
            f'POST {ONE}/agents/variables/custom {{"name":"v","sourceType":"constant","constantValue":"c",'
            '"description":"d","sourcePath":"p","defaultValue":"e"}'
        ),
    ),
    "update_variable": (
        lambda each: each.update_variable(
            "x", VariableChanges(
                source_type="user_metadata", description="d", source_path="p", constant_value="c",
                default_value="e",
            ),
        ),
        NAMED,
        (
            f'PATCH {ONE}/agents/variables/custom/x {{"sourceType":"user_metadata","description":"d",'
            '"sourcePath":"p","constantValue":"c","defaultValue":"e"}'
        ),
    ),
    "delete_variable": (
        lambda each: each.delete_variable("x"), DONE, f"DELETE {ONE}/agents/variables/custom/x"
    ),
    "list_external": (lambda each: each.list_external(), NONE, "GET /ai-agents/agents"),
    "create_external": (
        lambda each: each.create_external(NewExternalAgent(**EXTERNAL), chat_api_version="v3.1"),
        b'{"agent":{"uid":"a"}}',
        (
            f'POST /ai-agents/agents {{"name":"n","icon":"https://i","integrateWith":"ag2",{SENT_META},'
            f'"isActive":false,"integrationType":"agent",{SENT_NAMES}}}'
        ),
    ),
    "update_external": (
        lambda each: each.update_external("a", ExternalAgentChanges(**EXTERNAL), chat_api_version="v3.1"),
        DONE,
        (
            'PATCH /ai-agents/agents/a {"integrateWith":"ag2","name":"n","icon":"https://i","isActive":false,'
            f'"integrationType":"agent",{SENT_META},{SENT_NAMES}}}'
        ),
    ),
    "delete_external": (lambda each: each.delete_external("a"), DONE, "DELETE /ai-agents/agents/a"),
    "list_external_tools": (
        lambda each: each.list_external_tools(type="action"), NONE, "GET /ai-agents/tools?type=action"
    ),
    "get_external_tool": (lambda each: each.get_external_tool("t"), NAMED, "GET /ai-agents/tools/t"),
    "create_external_tool": (
        lambda each: each.create_external_tool(NewExternalTool(**PASSIVE)), NAMED,
        f"POST /ai-agents/tools {SENT_PASSIVE}",
    ),
    "update_external_tool": (
        lambda each: each.update_external_tool("t", ExternalToolChanges(**PASSIVE)), NAMED,
        f"PUT /ai-agents/tools/t {SENT_PASSIVE}",
    ),
    "delete_external_tool": (
        lambda each: each.delete_external_tool("t"), b'{"deleted":true}', "DELETE /ai-agents/tools/t"
    ),
}  # fmt: skip
VERSIONED = {"create", "create_external", "update_external"}


def test_every_operation_is_called_here() -> None:
    assert CALLS.keys() == {name.partition(".")[2] for name in OPERATIONS if name.startswith("agents.")}


@loop_over("name", CALLS)
async def test_what_is_sent(name: str) -> None:
    ask, reply, expected = CALLS[name]
    sender = Sender(reply)
    result = ask(Agents(sender))
    result = await (result.collect() if isinstance(result, Walk) else result)
    call = sender.calls[0]
    query = "&".join(f"{key}={value}" for key, value in query_pairs(call.query, "comma"))
    body = "" if call.body is None else f" {json_body(call.body).decode()}"
    assert f"{call.endpoint.method} {call.path}{'?' if query else ''}{query}{body}" == expected
    assert (call.headers == AgentHeaders(chat_api_version="v3.1")) is (name in VERSIONED)
    assert (result == Ack(success=True)) is (reply == DONE)


@pytest.mark.parametrize(
    "ask",
    [
        lambda each: each.get(""),
        lambda each: each.create(AgentChanges()),
        lambda each: each.update("a", NewAgent(name="n")),
        lambda each: each.add_tools("a", "t"),
        lambda each: each.add_api_tools("a", [""]),
        lambda each: each.sync_knowledge("file", "k"),
        lambda each: each.list_source_pages("texts", "k"),
        lambda each: each.add_knowledge("a", None, ["k"]),
        lambda each: each.list_external_tools(type="agent"),
        lambda each: each.create(NewAgent(name="n"), chat_api_version=""),
        lambda each: each.initiate_uploads([{"fileName": "f", "mimeType": "m", "fileSize": 52_428_801}]),
    ],
)
async def test_a_wrong_argument_is_refused_before_anything_is_sent(ask: Any) -> None:
    sender = Sender(DONE)
    with pytest.raises(RequestInvalidError):
        await ask(Agents(sender))
    assert sender.calls == []


def test_a_status_is_asked_for_again_and_work_is_not_started_twice() -> None:
    replays = {name: OPERATIONS[f"agents.{name}"].replay for name in CALLS}
    assert replays["poll_knowledge_status"] == replays["poll_discovered_urls"] == "safe"
    assert replays["sync_knowledge"] == replays["retry_discovered_urls"] == "never"
