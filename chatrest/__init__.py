"""chatrest: an asyncio client library for the REST service of a hosted chat platform.

    from chatrest import App, AsyncSession

    async with AsyncSession(App.from_env()) as session:
        async for message in session.messages.list_user("bob", on_behalf_of="alice"):
            print(message.id, message.text)

`session.users`, `.groups`, `.members`, `.messages`, `.conversations` and the others are the collections:
`help(session.messages)` shows the operations of one, `chatrest/resources/OPERATIONS.md` those of all. A
filter or a body is a struct (`MessageQuery`, `NewUser`): `help(chatrest.MessageQuery)` shows its fields.
Records (`Message`, `User`, …) are frozen structs with `to_dict` and `to_json`. All errors are
`ChatRestError`s.

The public names are imported when they are first used (PEP 562): `import chatrest` is fast, and the structs,
filters and errors do not import aiohttp. `dir(chatrest)` has all of them; `help` and `import *` have those
that most programs start from.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.pace.breaker import HostState as HostState
    from .core.pace.pacer import Pace as Pace
    from .core.pace.retry import RetryPolicy as RetryPolicy
    from .core.paging.cursor import Cursor as Cursor
    from .core.replies.decode import parse as parse
    from .core.requests.hosts import App as App
    from .core.requests.timeouts import Timeouts as Timeouts
    from .errors import (
        ActingUserIgnoredError as ActingUserIgnoredError,
        ApiError as ApiError,
        AuthenticationError as AuthenticationError,
        BadRequestError as BadRequestError,
        ChatRestError as ChatRestError,
        ConflictError as ConflictError,
        ConnectError as ConnectError,
        CursorError as CursorError,
        DeadlineExceededError as DeadlineExceededError,
        DeadlineOutcomeUnknownError as DeadlineOutcomeUnknownError,
        ExportIncompleteError as ExportIncompleteError,
        FanOutError as FanOutError,
        NotFoundError as NotFoundError,
        OutcomeUnknownError as OutcomeUnknownError,
        PermissionDeniedError as PermissionDeniedError,
        RateLimitError as RateLimitError,
        ReplyUnreadableError as ReplyUnreadableError,
        RequestInvalidError as RequestInvalidError,
        RequestTimeoutError as RequestTimeoutError,
        ServerError as ServerError,
        ServerOutcomeUnknownError as ServerOutcomeUnknownError,
        TransportError as TransportError,
    )
    from .fan_out.stream import FanOut as FanOut, FanOutCounts as FanOutCounts
    from .fan_out.worker_tasks import Failure as Failure, Outcome as Outcome, Success as Success
    from .management import AsyncManagement as AsyncManagement
    from .models.agent import (
        Agent as Agent,
        AvailableModel as AvailableModel,
        CreatedAgent as CreatedAgent,
        EnabledItems as EnabledItems,
        ToolAction as ToolAction,
        ToolIntegration as ToolIntegration,
        ToolSearch as ToolSearch,
    )
    from .models.agent_knowledge import (
        DiscoveredUrl as DiscoveredUrl,
        KnowledgeAck as KnowledgeAck,
        KnowledgeRecord as KnowledgeRecord,
        KnowledgeStatuses as KnowledgeStatuses,
        KnowledgeText as KnowledgeText,
        PresignedUpload as PresignedUpload,
        PresignedUploads as PresignedUploads,
        ScrapedPage as ScrapedPage,
        SourcePage as SourcePage,
        UrlBatch as UrlBatch,
        WebsiteCrawl as WebsiteCrawl,
    )
    from .models.agent_tool import (
        ApiTool as ApiTool,
        FrontendAction as FrontendAction,
        McpServer as McpServer,
        ToolDefinition as ToolDefinition,
        ToolParameter as ToolParameter,
    )
    from .models.agent_variable import (
        Variable as Variable,
        VariableUsage as VariableUsage,
    )
    from .models.api_key import ApiKey as ApiKey
    from .models.app import AppInfo as AppInfo
    from .models.call_record import CallRecord as CallRecord, Transcription as Transcription
    from .models.conversation import Conversation as Conversation, ConversationParty as ConversationParty
    from .models.count import MessageCount as MessageCount
    from .models.external_agent import (
        CreatedExternalAgent as CreatedExternalAgent,
        DeletedExternalTool as DeletedExternalTool,
        ExternalAgent as ExternalAgent,
        ExternalTool as ExternalTool,
    )
    from .models.flag import Flag as Flag
    from .models.group import Group as Group
    from .models.imports import (
        GroupOutcome as GroupOutcome,
        MemberOutcome as MemberOutcome,
        MessageOutcome as MessageOutcome,
        UserOutcome as UserOutcome,
    )
    from .models.item_ack import ItemAck as ItemAck
    from .models.member import AddedMember as AddedMember, Member as Member, MemberScope as MemberScope
    from .models.message import (
        ActionMessage as ActionMessage,
        CallMessage as CallMessage,
        CustomMessage as CustomMessage,
        InteractiveMessage as InteractiveMessage,
        MediaMessage as MediaMessage,
        Message as Message,
        TextMessage as TextMessage,
        UnknownMessage as UnknownMessage,
    )
    from .models.metrics import (
        MessageDataPoint as MessageDataPoint,
        MessageMetrics as MessageMetrics,
        TimeRange as TimeRange,
        UsageFigures as UsageFigures,
        UsageMetrics as UsageMetrics,
    )
    from .models.moderation import (
        BlockedMessage as BlockedMessage,
        KeywordList as KeywordList,
        ModerationCondition as ModerationCondition,
        ModerationFilter as ModerationFilter,
        ModerationRule as ModerationRule,
        Reason as Reason,
        ReviewedMessage as ReviewedMessage,
        RuleRevision as RuleRevision,
    )
    from .models.notification import (
        ContactDetails as ContactDetails,
        MutedConversations as MutedConversations,
        NotificationLog as NotificationLog,
        NotificationPreferenceGroups as NotificationPreferenceGroups,
        NotificationPreferences as NotificationPreferences,
        NotificationSettings as NotificationSettings,
        PushToken as PushToken,
        PushTokens as PushTokens,
        Timezone as Timezone,
        UserNotificationPreferences as UserNotificationPreferences,
    )
    from .models.notification_provider import (
        CustomProvider as CustomProvider,
        CustomPushProviders as CustomPushProviders,
        PushProviders as PushProviders,
        SendgridProvider as SendgridProvider,
        TwilioProvider as TwilioProvider,
    )
    from .models.outcome import Ack as Ack, Outcomes as Outcomes
    from .models.reaction import Reaction as Reaction
    from .models.role import (
        Feature as Feature,
        Permission as Permission,
        PermissionMap as PermissionMap,
        PermissionOutcomes as PermissionOutcomes,
        Role as Role,
        RoleSettings as RoleSettings,
    )
    from .models.sent_message import SentMessage as SentMessage
    from .models.user import (
        AuthToken as AuthToken,
        DeactivatedUsers as DeactivatedUsers,
        ReactivatedUsers as ReactivatedUsers,
        User as User,
    )
    from .models.webhook import Trigger as Trigger, Webhook as Webhook
    from .network.pool_state import LimitState as LimitState, PoolState as PoolState
    from .queries.agent_knowledge import (
        DiscoveredUrlQuery as DiscoveredUrlQuery,
        KnowledgeQuery as KnowledgeQuery,
        KnowledgeTextChanges as KnowledgeTextChanges,
        NewKnowledgeText as NewKnowledgeText,
        NewUpload as NewUpload,
        PageToScrape as PageToScrape,
        SourcePageQuery as SourcePageQuery,
        WebsiteToScrape as WebsiteToScrape,
    )
    from .queries.agent_tools import (
        ApiToolChanges as ApiToolChanges,
        FrontendActionChanges as FrontendActionChanges,
        McpServerChanges as McpServerChanges,
        NewApiTool as NewApiTool,
        NewFrontendAction as NewFrontendAction,
        NewMcpServer as NewMcpServer,
        NewToolParameter as NewToolParameter,
    )
    from .queries.agent_variables import (
        NewVariable as NewVariable,
        VariableChanges as VariableChanges,
        VariableQuery as VariableQuery,
    )
    from .queries.agents import (
        AgentChanges as AgentChanges,
        AgentQuery as AgentQuery,
        EnabledActions as EnabledActions,
        EnabledItemsQuery as EnabledItemsQuery,
        IntegrationQuery as IntegrationQuery,
        NewAgent as NewAgent,
        ToolQuery as ToolQuery,
        ToolSearchQuery as ToolSearchQuery,
    )
    from .queries.api_keys import (
        ApiKeyChanges as ApiKeyChanges,
        ApiKeyQuery as ApiKeyQuery,
        NewApiKey as NewApiKey,
    )
    from .queries.apps import AppQuery as AppQuery, NewApp as NewApp
    from .queries.auth_tokens import TokenChanges as TokenChanges
    from .queries.calls import CallQuery as CallQuery, TranscriptionQuery as TranscriptionQuery
    from .queries.conversations import (
        ConversationPin as ConversationPin,
        ConversationQuery as ConversationQuery,
    )
    from .queries.data_import import (
        GroupImport as GroupImport,
        MemberImport as MemberImport,
        MessageImport as MessageImport,
        UserImport as UserImport,
    )
    from .queries.external_agents import (
        ExternalAgentChanges as ExternalAgentChanges,
        ExternalToolChanges as ExternalToolChanges,
        IntegrationMeta as IntegrationMeta,
        NewExternalAgent as NewExternalAgent,
        NewExternalTool as NewExternalTool,
    )
    from .queries.files import File as File
    from .queries.friends import FriendQuery as FriendQuery
    from .queries.groups import GroupChanges as GroupChanges, GroupQuery as GroupQuery, NewGroup as NewGroup
    from .queries.members import MemberQuery as MemberQuery, NewMembers as NewMembers
    from .queries.messages import (
        MessageChanges as MessageChanges,
        MessageQuery as MessageQuery,
        ThreadQuery as ThreadQuery,
    )
    from .queries.moderation import (
        ModerationQuery as ModerationQuery,
        NewFlag as NewFlag,
        NewKeywordList as NewKeywordList,
        NewModeratedMessage as NewModeratedMessage,
        NewReason as NewReason,
        NewRule as NewRule,
        RuleCondition as RuleCondition,
        RuleFilter as RuleFilter,
    )
    from .queries.new_messages import (
        InteractionGoal as InteractionGoal,
        MultipleReceivers as MultipleReceivers,
        NewAttachment as NewAttachment,
        NewBotMessage as NewBotMessage,
        NewMessage as NewMessage,
        NewThreadMessage as NewThreadMessage,
    )
    from .queries.notification_providers import (
        ApnsProvider as ApnsProvider,
        CustomEmailProviderChanges as CustomEmailProviderChanges,
        CustomPushProviderChanges as CustomPushProviderChanges,
        CustomSmsProviderChanges as CustomSmsProviderChanges,
        FcmProvider as FcmProvider,
        NewCustomEmailProvider as NewCustomEmailProvider,
        NewCustomPushProvider as NewCustomPushProvider,
        NewCustomSmsProvider as NewCustomSmsProvider,
        NewSendgridProvider as NewSendgridProvider,
        NewTwilioProvider as NewTwilioProvider,
        SendgridProviderChanges as SendgridProviderChanges,
        TwilioProviderChanges as TwilioProviderChanges,
    )
    from .queries.notifications import (
        ContactDetailsChanges as ContactDetailsChanges,
        ConversationsToMute as ConversationsToMute,
        ConversationsToUnmute as ConversationsToUnmute,
        ConversationToMute as ConversationToMute,
        ConversationToUnmute as ConversationToUnmute,
        MutePreferences as MutePreferences,
        NewPushToken as NewPushToken,
        NotificationLogQuery as NotificationLogQuery,
        PreferencesChanges as PreferencesChanges,
        SettingsChanges as SettingsChanges,
    )
    from .queries.pages import PageQuery as PageQuery
    from .queries.roles import (
        NewRole as NewRole,
        NewRoleSettings as NewRoleSettings,
        RoleChanges as RoleChanges,
    )
    from .queries.users import NewUser as NewUser, UserChanges as UserChanges, UserQuery as UserQuery
    from .queries.webhooks import (
        NewWebhook as NewWebhook,
        WebhookChanges as WebhookChanges,
        WebhookQuery as WebhookQuery,
    )
    from .session import AsyncSession as AsyncSession
    from .times import to_datetime as to_datetime
    from .walk.merge import Merge as Merge, merge as merge
    from .walk.walk import Page as Page, TokenPage as TokenPage, Walk as Walk

__version__ = "0.2.0"

_HOMES: dict[str, str] = {
    "core.pace.breaker": "HostState",
    "core.paging.cursor": "Cursor",
    "core.replies.decode": "parse",
    "core.requests.hosts": "App",
    "core.pace.pacer": "Pace",
    "core.pace.retry": "RetryPolicy",
    "core.requests.timeouts": "Timeouts",
    "errors": (
        "ActingUserIgnoredError ApiError AuthenticationError BadRequestError ChatRestError ConflictError "
        "ConnectError "
        "CursorError DeadlineExceededError DeadlineOutcomeUnknownError ExportIncompleteError "
        "FanOutError NotFoundError OutcomeUnknownError PermissionDeniedError RateLimitError "
        "ReplyUnreadableError RequestInvalidError RequestTimeoutError ServerError "
        "ServerOutcomeUnknownError TransportError"
    ),
    "fan_out.stream": "FanOut FanOutCounts",
    "management": "AsyncManagement",
    "models.agent": "Agent AvailableModel CreatedAgent EnabledItems ToolAction ToolIntegration ToolSearch",
    "models.agent_knowledge": (
        "DiscoveredUrl KnowledgeAck KnowledgeRecord KnowledgeStatuses KnowledgeText PresignedUpload "
        "PresignedUploads ScrapedPage SourcePage UrlBatch WebsiteCrawl"
    ),
    "models.agent_tool": "ApiTool FrontendAction McpServer ToolDefinition ToolParameter",
    "models.agent_variable": "Variable VariableUsage",
    "models.api_key": "ApiKey",
    "models.app": "AppInfo",
    "models.call_record": "CallRecord Transcription",
    "models.conversation": "Conversation ConversationParty",
    "models.count": "MessageCount",
    "models.external_agent": "CreatedExternalAgent DeletedExternalTool ExternalAgent ExternalTool",
    "models.flag": "Flag",
    "models.group": "Group",
    "models.imports": "GroupOutcome MemberOutcome MessageOutcome UserOutcome",
    "models.item_ack": "ItemAck",
    "models.member": "AddedMember Member MemberScope",
    "models.message": (
        "ActionMessage CallMessage CustomMessage InteractiveMessage MediaMessage Message TextMessage "
        "UnknownMessage"
    ),
    "models.metrics": "MessageDataPoint MessageMetrics TimeRange UsageFigures UsageMetrics",
    "models.moderation": (
        "BlockedMessage KeywordList ModerationCondition ModerationFilter ModerationRule Reason "
        "ReviewedMessage RuleRevision"
    ),
    "models.notification": (
        "ContactDetails MutedConversations NotificationLog NotificationPreferenceGroups "
        "NotificationPreferences NotificationSettings PushToken PushTokens Timezone "
        "UserNotificationPreferences"
    ),
    "models.notification_provider": (
        "CustomProvider CustomPushProviders PushProviders SendgridProvider TwilioProvider"
    ),
    "models.outcome": "Ack Outcomes",
    "models.reaction": "Reaction",
    "models.role": "Feature Permission PermissionMap PermissionOutcomes Role RoleSettings",
    "models.sent_message": "SentMessage",
    "models.user": "AuthToken DeactivatedUsers ReactivatedUsers User",
    "models.webhook": "Trigger Webhook",
    "walk.merge": "Merge merge",
    "network.pool_state": "LimitState PoolState",
    "queries.agent_knowledge": (
        "DiscoveredUrlQuery KnowledgeQuery KnowledgeTextChanges NewKnowledgeText NewUpload PageToScrape "
        "SourcePageQuery WebsiteToScrape"
    ),
    "queries.agent_tools": (
        "ApiToolChanges FrontendActionChanges McpServerChanges NewApiTool NewFrontendAction "
        "NewMcpServer NewToolParameter"
    ),
    "queries.agent_variables": "NewVariable VariableChanges VariableQuery",
    "queries.agents": (
        "AgentChanges AgentQuery EnabledActions EnabledItemsQuery IntegrationQuery NewAgent ToolQuery "
        "ToolSearchQuery"
    ),
    "queries.api_keys": "ApiKeyChanges ApiKeyQuery NewApiKey",
    "queries.apps": "AppQuery NewApp",
    "queries.auth_tokens": "TokenChanges",
    "queries.calls": "CallQuery TranscriptionQuery",
    "queries.conversations": "ConversationPin ConversationQuery",
    "queries.data_import": "GroupImport MemberImport MessageImport UserImport",
    "queries.external_agents": (
        "ExternalAgentChanges ExternalToolChanges IntegrationMeta NewExternalAgent NewExternalTool"
    ),
    "queries.files": "File",
    "queries.friends": "FriendQuery",
    "queries.groups": "GroupChanges GroupQuery NewGroup",
    "queries.members": "MemberQuery NewMembers",
    "queries.messages": "MessageQuery MessageChanges ThreadQuery",
    "queries.moderation": (
        "ModerationQuery NewFlag NewKeywordList NewModeratedMessage NewReason NewRule "
        "RuleCondition RuleFilter"
    ),
    "queries.new_messages": (
        "InteractionGoal MultipleReceivers NewAttachment NewBotMessage NewMessage NewThreadMessage"
    ),
    "queries.notification_providers": (
        "ApnsProvider CustomEmailProviderChanges CustomPushProviderChanges "
        "CustomSmsProviderChanges FcmProvider NewCustomEmailProvider NewCustomPushProvider "
        "NewCustomSmsProvider NewSendgridProvider NewTwilioProvider SendgridProviderChanges "
        "TwilioProviderChanges"
    ),
    "queries.notifications": (
        "ContactDetailsChanges ConversationToMute ConversationToUnmute ConversationsToMute "
        "ConversationsToUnmute MutePreferences NewPushToken NotificationLogQuery "
        "PreferencesChanges SettingsChanges"
    ),
    "queries.pages": "PageQuery",
    "queries.roles": "NewRole NewRoleSettings RoleChanges",
    "queries.users": "NewUser UserChanges UserQuery",
    "queries.webhooks": "NewWebhook WebhookChanges WebhookQuery",
    "session": "AsyncSession",
    "times": "to_datetime",
    "walk.walk": "Page TokenPage Walk",
    "fan_out.worker_tasks": "Failure Outcome Success",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(
    (
        "Ack AddedMember App AsyncManagement AsyncSession AuthToken Conversation Cursor File Group Member "
        "MemberQuery MemberScope Message MessageCount MessageQuery ActionMessage CallMessage CustomMessage "
        "InteractiveMessage MediaMessage TextMessage UnknownMessage NewMembers NewMessage NewUser Outcome "
        "Outcomes Page RetryPolicy Timeouts User UserQuery Walk merge parse to_datetime " + _HOMES["errors"]
    ).split()
)


if not TYPE_CHECKING:  # or a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
