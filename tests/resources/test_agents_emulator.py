"""`session.agents` against the emulator: what is made can be listed, changed and removed."""

import pytest

from chatrest import AsyncSession, ConflictError, NotFoundError
from chatrest.parameters.agent_knowledge import (
    DiscoveredUrlQuery,
    KnowledgeQuery,
    KnowledgeTextChanges,
    NewKnowledgeText,
    NewUpload,
    PageToScrape,
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
    AgentQuery,
    EnabledActions,
    EnabledItemsQuery,
    ExternalAgentChanges,
    ExternalToolChanges,
    IntegrationMeta,
    IntegrationQuery,
    NewAgent,
    NewExternalAgent,
    NewExternalTool,
    ToolSearchQuery,
)
from chatrest.resources.agents import Agents


@pytest.fixture
def agents(session: AsyncSession) -> Agents:
    """The agents of an emulator."""
    return session.agents


async def make(agents: Agents, name: str = "Helper") -> str:
    """Make an agent, and return its uid."""
    return (await agents.create(NewAgent(name=name))).agent.uid


async def test_an_agent_from_its_creation_to_its_end(agents: Agents) -> None:
    new = NewAgent(name="Helper", instruction="Help.", model_meta_data={"temperature": 0.5})
    created = (await agents.create(new, chat_api_version="v3.0")).agent
    assert (created.name, created.is_active, created.model) == ("Helper", True, "gpt-4o-mini")
    assert created == await agents.get(created.uid)
    changes = AgentChanges(description="of the shop", model_meta_data={"maxTokens": 5})
    assert (await agents.update(created.uid, changes)).success
    changed = await agents.get(created.uid)
    assert (changed.description, changed.name, changed.formatted_instruction) == (
        "of the shop", "Helper", "Help.",
    )  # fmt: skip
    assert changed.model_meta_data == {"temperature": 0.5, "maxTokens": 5}
    await make(agents, "Other")
    assert [each.name async for each in agents.list()] == ["Helper", "Other"]
    assert [each.name async for each in agents.list(AgentQuery(search="SHOP"))] == ["Helper"]
    assert (await agents.delete(created.uid)).success
    assert [each.name async for each in agents.list()] == ["Other"]
    with pytest.raises(NotFoundError, match="ERR_AGENT_NOT_FOUND"):
        await agents.get(created.uid)


async def test_models_can_be_chosen_from(agents: Agents) -> None:
    models = await agents.list_models().collect()
    assert [model.model for model in models if model.default] == ["gpt-4o-mini"]
    assert len(models) > 1


async def test_integrations_and_their_actions(agents: Agents) -> None:
    uid = await make(agents)
    integrations = await agents.list_tool_integrations(uid).collect()
    assert [each.is_authenticated for each in integrations] == [False, False]
    slug = integrations[0].slug
    assert (await agents.add_tools(uid, [slug])).tools == (slug,)
    with pytest.raises(ConflictError, match="ERR_TOOL_ALREADY_ADDED"):
        await agents.add_tools(uid, [slug])
    walk = agents.list_tool_integrations(uid, IntegrationQuery(slug=slug))
    assert [each.is_authenticated async for each in walk] == [True]
    known = [action.name async for action in agents.list_tool_actions(uid, slug)]
    assert (await agents.enable_tool_actions(uid, slug, EnabledActions(actions=known[:1]))).success
    assert await enabled(agents, uid) == [known[0]]
    assert (await agents.disable_tool_actions(uid, slug, known[:1])).success
    assert await enabled(agents, uid) == []
    assert (await agents.remove_tools(uid, [slug])).tools == ()


async def enabled(agents: Agents, uid: str) -> list[object]:
    [tool] = (await agents.list_enabled_items(uid, EnabledItemsQuery(api_tools=False))).tools or ()
    return [action.slug for action in tool.actions or ()]


async def test_api_tools(agents: Agents) -> None:
    new = NewApiTool(
        slug="weather", name="Weather", description="Tells it", endpoint="https://h/w", method="GET",
        enable_basic_auth=True, basic_auth_username="u", basic_auth_password="p",
        parameters=[NewToolParameter(key="city", type="string", description="Where", required=True)],
    )  # fmt: skip
    tool = await agents.create_api_tool(new)
    assert (tool.slug, tool.enable_basic_auth, tool.headers) == ("weather", True, None)
    assert tool == await agents.get_api_tool("weather")
    assert b'"p"' not in tool.to_json()
    assert tool.tool
    assert tool.tool.parameters
    assert tool.tool.parameters["required"] == ["city"]
    uid = await make(agents)
    with pytest.raises(NotFoundError, match="ERR_TOOL_NOT_FOUND"):
        await agents.add_api_tools(uid, ["weather", "none"])
    assert (await agents.add_api_tools(uid, ["weather"])).api_tools == ("weather",)
    items = await agents.list_enabled_items(uid, EnabledItemsQuery(key="tells"))
    assert [each.endpoint for each in items.api_tools or ()] == ["https://h/w"]
    changed = await agents.update_api_tool("weather", ApiToolChanges(headers='{"a":"b"}'))
    assert (changed.headers, changed.name) == ('{"a":"b"}', "Weather")
    assert [each.slug async for each in agents.list_api_tools()] == ["weather"]
    search = await agents.search_tools(uid, ToolSearchQuery(key="weather"))
    assert [row["slug"] for row in search.results or ()] == ["weather"]
    assert (await agents.remove_api_tools(uid, ["weather"])).api_tools == ()
    assert (await agents.delete_api_tool("weather")).success
    assert await agents.list_api_tools().collect() == []


async def test_an_agent_is_made_of_tools_that_exist_and_outlives_them(agents: Agents) -> None:
    with pytest.raises(NotFoundError, match="ERR_TOOL_NOT_FOUND"):
        await agents.create(NewAgent(name="n", mcp_servers=["m"]))
    await agents.create_mcp_server(NewMcpServer(name="M", slug="m", url="https://h", description="d"))
    uid = (await agents.create(NewAgent(name="n", mcp_servers=["m"]))).agent.uid
    await agents.delete_mcp_server("m")
    assert (await agents.update(uid, AgentChanges(name="other"))).success
    assert (await agents.list_enabled_items(uid)).mcp_servers == ()


async def test_frontend_actions(agents: Agents) -> None:
    new = NewFrontendAction(name="Show", description="Shows it", trigger_function="showIt")
    action = await agents.create_frontend_action(new)
    assert action.id
    assert action == await agents.get_frontend_action(action.id)
    changed = await agents.update_frontend_action(action.id, FrontendActionChanges(name="Show me"))
    assert (changed.name, changed.trigger_function) == ("Show me", "showIt")
    uid = await make(agents)
    assert (await agents.add_frontend_actions(uid, ["showIt"])).frontend_actions == ("showIt",)
    items = await agents.list_enabled_items(uid)
    assert [each.id for each in items.frontend_actions or ()] == [action.id]
    assert (await agents.remove_frontend_actions(uid, ["showIt"])).frontend_actions == ()
    assert [each.name async for each in agents.list_frontend_actions()] == ["Show me"]
    assert (await agents.delete_frontend_action(action.id)).success
    with pytest.raises(NotFoundError, match="ERR_TOOL_NOT_FOUND"):
        await agents.add_frontend_actions(uid, ["showIt"])


async def test_mcp_servers(agents: Agents) -> None:
    new = NewMcpServer(name="Files", slug="files", url="https://h/mcp", description="d")
    server = await agents.create_mcp_server(new)
    assert server == await agents.get_mcp_server("files")
    changed = await agents.update_mcp_server("files", McpServerChanges(url="https://i/mcp"))
    assert changed.url == "https://i/mcp"
    uid = await make(agents)
    assert (await agents.add_mcp_servers(uid, ["files"])).mcp_servers == ("files",)
    items = await agents.list_enabled_items(uid)
    assert [each.url for each in items.mcp_servers or ()] == ["https://i/mcp"]
    assert (await agents.remove_mcp_servers(uid, ["files"])).mcp_servers == ()
    assert [each.slug async for each in agents.list_mcp_servers()] == ["files"]
    assert (await agents.delete_mcp_server("files")).success


async def test_texts_are_knowledge_of_the_app_and_of_agents(agents: Agents) -> None:
    text = await agents.create_text(NewKnowledgeText(title="Hours", text="Nine to five"))
    assert text.status == "indexing"
    assert (await agents.poll_knowledge_status([text.unique_id, "none"])).data == {text.unique_id: "indexed"}
    assert (await agents.get_text(text.unique_id)).text == "Nine to five"
    assert (await agents.update_text(text.unique_id, KnowledgeTextChanges(text="Nine to six"))).success
    assert [(each.title, each.text) async for each in agents.list_texts()] == [("Hours", "Nine to six")]
    pages = await agents.list_source_pages("text", text.unique_id).collect()
    assert [(page.content, page.page_number, page.char_count) for page in pages] == [("Nine to six", 1, 11)]
    uid = await make(agents)
    assert (await agents.add_knowledge(uid, "text", [text.unique_id])).success
    assert (await agents.get(uid)).other_kb_integrations == (text.unique_id,)
    assert (await agents.remove_knowledge(uid, "text", [text.unique_id])).success
    assert (await agents.get(uid)).other_kb_integrations == ()
    assert (await agents.sync_knowledge("text", text.unique_id)).success
    [record] = await agents.list_knowledge().collect()
    assert (record.source_name, record.type, record.status) == ("Hours", "text", "inSync")
    assert (await agents.delete_text(text.unique_id)).success
    assert await agents.list_knowledge().collect() == []
    with pytest.raises(NotFoundError, match="ERR_KB_NOT_FOUND"):
        await agents.get_text(text.unique_id)


async def test_files_are_announced_and_removed(agents: Agents) -> None:
    files = [
        NewUpload(file_name=f"{name}.pdf", mime_type="application/pdf", file_size=5) for name in ("a", "b")
    ]
    uploads = (await agents.initiate_uploads(files)).uploads or ()
    assert [(each.file_name, each.file_size) for each in uploads] == [("a.pdf", 5), ("b.pdf", 5)]
    ids = [str(each.upload_id) for each in uploads]
    assert all(str(each.presigned_url).startswith("https://") for each in uploads)
    assert [each.unique_id async for each in agents.list_knowledge()] == ids[::-1]
    assert await agents.list_source_pages("uploads", ids[0]).collect() == []
    assert (await agents.delete_upload(ids[0])).data == {"uniqueId": ids[0]}
    assert [each.unique_id async for each in agents.list_knowledge()] == ids[1:]


@pytest.mark.parametrize("affix", ["append", "prepend"])
async def test_knowledge_goes_from_page_to_page(agents: Agents, affix: str) -> None:
    for number in range(7):
        await agents.create_text(NewKnowledgeText(title=f"t{number}", text="x"))
    query = KnowledgeQuery(limit=2, affix=affix)  # type: ignore[arg-type]
    walk = agents.list_knowledge(query).limit(3)
    titles = [each.source_name async for each in walk]
    resumed = agents.list_knowledge(query, cursor=str(walk.cursor))
    titles += [each.source_name async for each in resumed]
    assert titles == [f"t{number}" for number in (range(7) if affix == "prepend" else range(6, -1, -1))]


async def test_a_website_leads_to_addresses(agents: Agents) -> None:
    site = WebsiteToScrape(url="https://shop/", max_pages=4, exclude=["page-2"], fetch_sitemap=True)
    crawl = await agents.scrape_website(site)
    parent = str(crawl.crawl_id)
    urls = await agents.list_discovered_urls(parent, DiscoveredUrlQuery(limit=2)).collect()
    assert [each.url for each in urls] == [f"https://shop/page-{number}" for number in (4, 3, 1)]
    batch = await agents.process_discovered_urls(parent, [urls[0].url_id])
    assert (batch.urls_processed, batch.total_urls) == (2, 3)
    statuses = await agents.poll_discovered_urls(parent, [urls[0].url_id, urls[1].url_id, "none"])
    assert statuses.data == {urls[0].url_id: "skipped", urls[1].url_id: "processed"}
    processed = agents.list_discovered_urls(parent, DiscoveredUrlQuery(status="processed"))
    assert [each.url_id async for each in processed] == [urls[1].url_id, urls[2].url_id]
    assert len(await agents.list_source_pages("website", parent).collect()) == 2
    assert (await agents.retry_discovered_urls(parent, [urls[0].url_id])).data == {"urlsRetried": 1}
    assert len(await agents.list_source_pages("website", parent).collect()) == 3
    assert (await agents.delete_website(parent)).success
    with pytest.raises(NotFoundError):
        await agents.list_discovered_urls(parent).collect()


async def test_a_page_is_read_without_being_kept(agents: Agents) -> None:
    page = await agents.scrape_page(PageToScrape(url="https://shop/one", format="text"))
    assert (page.url, page.metadata) == ("https://shop/one", {"format": "text"})
    assert page.content_length == len(str(page.content))
    assert await agents.list_knowledge().collect() == []


async def test_variables_and_who_uses_them(agents: Agents) -> None:
    new = NewVariable(name="shop.name", source_type="constant", constant_value="Corner")
    variable = await agents.create_variable(new)
    assert (variable.category, variable.default_value) == ("custom", "")
    assert variable.id
    changed = await agents.update_variable(variable.id, VariableChanges(constant_value="Centre"))
    assert (changed.constant_value, changed.name) == ("Centre", "shop.name")
    assert [each.name async for each in agents.list_custom_variables()] == ["shop.name"]
    uid = (await agents.create(NewAgent(name="n", instruction="Work for {{shop.name}}"))).agent.uid
    usages = {each.name: each async for each in agents.list_all_variables()}
    assert usages["shop.name"].usage_count == 1
    assert [each.uid for each in usages["shop.name"].used_by_agents or ()] == [uid]
    grouped = await agents.list_all_variables(VariableQuery(group_by_category=True)).collect()
    assert {each.category for each in grouped} == {"auth", "custom"}
    assert (await agents.delete_variable(variable.id)).success
    assert await agents.list_custom_variables().collect() == []


async def test_external_agents_and_their_tools(agents: Agents) -> None:
    tool = await agents.create_external_tool(
        NewExternalTool(
            name="look_up", display_name="Look up", execution_text="Looking", description="d",
            parameters={"type": "object"},
        )
    )  # fmt: skip
    assert (tool.type, tool.do_not_execute) == ("action", False)
    changes = ExternalToolChanges(name="look_up", display_name="Find", execution_text="Finding")
    changed = await agents.update_external_tool("look_up", changes)
    assert changed == await agents.get_external_tool("look_up")
    assert changed.tool
    assert (changed.display_name, changed.tool.parameters) == ("Find", {"type": "object"})
    passive = NewExternalTool(name="show", display_name="S", execution_text="e", do_not_execute=True)
    assert (await agents.create_external_tool(passive)).type == "tool"
    assert [each.name async for each in agents.list_external_tools(type="action")] == ["look_up"]
    new = NewExternalAgent(
        name="Guide", icon="https://i", integrate_with="agno", actions=["look_up"],
        integration_meta=IntegrationMeta(base_url="https://h", headers='{"a":"b"}'),
    )  # fmt: skip
    agent = (await agents.create_external(new)).agent
    assert (agent.integration_meta, agent.deleted_at) == (
        {"baseUrl": "https://h", "headers": '{"a":"b"}'},
        None,
    )
    assert (
        await agents.update_external(agent.uid, ExternalAgentChanges(integrate_with="agno", is_active=False))
    ).success
    assert [(each.uid, each.is_active) async for each in agents.list_external()] == [(agent.uid, False)]
    with pytest.raises(NotFoundError, match="ERR_TOOL_NOT_FOUND"):
        await agents.update_external(agent.uid, ExternalAgentChanges(integrate_with="agno", tools=["none"]))
    assert (await agents.delete_external(agent.uid)).success
    assert (await agents.delete_external_tool("look_up")).deleted is True
    assert [each.name async for each in agents.list_external_tools()] == ["show"]
