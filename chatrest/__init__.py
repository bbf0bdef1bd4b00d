"""chatrest: an asyncio client library for the REST service of a hosted chat platform.

    from chatrest import App, AsyncSession

    async with AsyncSession(App.from_env()) as session:
        async for message in session.messages.list_user("bob", on_behalf_of="alice"):
            print(message.id, message.text)

`session.users`, `.groups`, `.members`, `.messages`, `.conversations` and the others are the collections:
`help(session.messages)` shows the operations of one, `chatrest/guide/operations.md` those of all. A
filter or a body is a struct (`MessageQuery`, `NewUser`): `help(chatrest.MessageQuery)` shows its fields.
Records (`Message`, `User`, …) are frozen structs with `to_dict` and `to_json`. All errors are
`ChatRestError`s.

The public names are imported when they are first used (PEP 562): `import chatrest` is fast, and the structs,
filters and errors do not import aiohttp. `dir(chatrest)` has all of them; `help` and `import *` have those
with which most programs begin.
"""

from importlib import import_module
from typing import Any, Final

__version__ = "0.1.0"


__all__ = [
    "Ack", "ActingUserIgnoredError", "ActionMessage", "AddedMember", "ApiError", "App", "AsyncManagement",
    "AsyncSession", "AuthToken", "AuthenticationError", "BadRequestError", "CallMessage", "ChatRestError",
    "ConflictError", "ConnectError", "Conversation", "Cursor", "CursorError", "CustomMessage",
    "DeadlineExceededError", "DeadlineOutcomeUnknownError", "ExportIncompleteError", "FanOutError", "File",
    "Group", "InteractiveMessage", "MediaMessage", "Member", "MemberQuery", "MemberScope", "Message",
    "MessageCount", "MessageQuery", "NewMembers", "NewMessage", "NewUser", "NotFoundError", "Outcome",
    "OutcomeUnknownError", "Outcomes", "Page", "PermissionDeniedError", "RateLimitError",
    "ReplyUnreadableError", "RequestInvalidError", "RequestTimeoutError", "RetryPolicy", "ServerError",
    "ServerOutcomeUnknownError", "TextMessage", "Timeouts", "TransportError", "UnknownMessage", "User",
    "UserQuery", "Walk", "parse", "to_datetime",
]  # fmt: skip

_NAMES: Final = {
    "_core.pace.pacer": "Pace",
    "_core.pace.retry": "RetryPolicy",
    "_core.paging.cursor": "Cursor",
    "_core.replies.one_record": "parse",
    "_core.requests.arguments": "Timeouts",
    "_fan_out.outcomes": "Failure FanOutCounts Outcome Success",
    "_fan_out.stream": "FanOut",
    "_models.agent_knowledge": """
    DiscoveredUrl KnowledgeAck KnowledgeRecord KnowledgeStatuses KnowledgeText PresignedUpload
    PresignedUploads ScrapedPage SourcePage UrlBatch WebsiteCrawl""",
    "_models.agents": """
    Agent ApiTool AvailableModel CreatedAgent CreatedExternalAgent DeletedExternalTool EnabledItems
    ExternalAgent ExternalTool FrontendAction McpServer ToolAction ToolDefinition ToolIntegration
    ToolParameter ToolSearch Variable VariableUsage""",
    "_models.apps": """
    ApiKey AppInfo MessageDataPoint MessageMetrics TimeRange Trigger UsageFigures UsageMetrics Webhook""",
    "_models.calls": "CallRecord Transcription",
    "_models.conversations": "Conversation ConversationParty",
    "_models.messages": """
    ActionMessage AddedMember CallMessage CustomMessage Flag InteractiveMessage MediaMessage Message
    MessageCount MessageOutcome Reaction SentMessage TextMessage UnknownMessage""",
    "_models.moderation": """
    BlockedMessage KeywordList ModerationCondition ModerationFilter ModerationRule Reason ReviewedMessage
    RuleRevision""",
    "_models.notifications": """
    ContactDetails CustomProvider CustomPushProviders MutedConversations NotificationLog
    NotificationPreferenceGroups NotificationPreferences NotificationSettings PushProviders PushToken
    PushTokens SendgridProvider Timezone TwilioProvider UserNotificationPreferences""",
    "_models.outcomes": "Ack ItemAck Outcomes",
    "_models.roles": "Feature Permission PermissionMap PermissionOutcomes Role RoleSettings",
    "_models.users": """
    AuthToken DeactivatedUsers Group GroupOutcome Member MemberOutcome MemberScope ReactivatedUsers User
    UserOutcome""",
    "_network.pool": "LimitState PoolState",
    "_network.session_options": "RawReply",
    "_parameters.agent_knowledge": """
    DiscoveredUrlQuery KnowledgeQuery KnowledgeTextChanges NewKnowledgeText NewUpload PageToScrape
    SourcePageQuery WebsiteToScrape""",
    "_parameters.agents": """
    AgentChanges AgentQuery ApiToolChanges EnabledActions EnabledItemsQuery ExternalAgentChanges
    ExternalToolChanges FrontendActionChanges IntegrationMeta IntegrationQuery McpServerChanges NewAgent
    NewApiTool NewExternalAgent NewExternalTool NewFrontendAction NewMcpServer NewToolParameter
    NewVariable ToolQuery ToolSearchQuery VariableChanges VariableQuery""",
    "_parameters.apps": """
    ApiKeyChanges ApiKeyQuery AppQuery NewApiKey NewApp NewWebhook WebhookChanges WebhookQuery""",
    "_parameters.checked": "PageQuery",
    "_parameters.conversations": "CallQuery ConversationPin ConversationQuery TranscriptionQuery",
    "_parameters.data_import": "GroupImport MemberImport MessageImport UserImport",
    "_parameters.files": "File",
    "_parameters.messages": """
    InteractionGoal MessageChanges MessageQuery MultipleReceivers NewAttachment NewBotMessage NewMessage
    NewThreadMessage ThreadQuery""",
    "_parameters.moderation": """
    ModerationQuery NewFlag NewKeywordList NewModeratedMessage NewReason NewRule RuleCondition RuleFilter""",
    "_parameters.notifications": """
    ApnsProvider ContactDetailsChanges ConversationToMute ConversationToUnmute ConversationsToMute
    ConversationsToUnmute CustomEmailProviderChanges CustomPushProviderChanges CustomSmsProviderChanges
    FcmProvider MutePreferences NewCustomEmailProvider NewCustomPushProvider NewCustomSmsProvider
    NewPushToken NewSendgridProvider NewTwilioProvider NotificationLogQuery PreferencesChanges
    SendgridProviderChanges SettingsChanges TwilioProviderChanges""",
    "_parameters.roles": "NewRole NewRoleSettings RoleChanges",
    "_parameters.users": """
    FriendQuery GroupChanges GroupQuery MemberQuery NewGroup NewMembers NewUser TokenChanges UserChanges
    UserQuery""",
    "_walk.walk": "Page TokenPage Walk",
    "app": "App",
    "errors": """
    ActingUserIgnoredError ApiError AuthenticationError BadRequestError ChatRestError ConflictError
    ConnectError CursorError DeadlineExceededError DeadlineOutcomeUnknownError ExportIncompleteError
    FanOutError NotFoundError OutcomeUnknownError PermissionDeniedError RateLimitError
    ReplyUnreadableError RequestInvalidError RequestTimeoutError ServerError ServerOutcomeUnknownError
    TransportError""",
    "session": "AsyncManagement AsyncSession",
    "times": "to_datetime",
}
"""The public names of each module; `__init__.pyi` has the same, for type checkers."""
_HOME: Final = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
